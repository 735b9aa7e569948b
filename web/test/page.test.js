import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { object, objects, resource, setUp } from './harness.js';

const pods = resource('pods', 'Pod');
const nodes = resource('nodes', 'Node', { namespaced: false });
const deployments = resource('deployments', 'Deployment', { group: 'apps' });
const widgets = resource('widgets', 'Widget', { group: 'example.com', version: 'v1alpha1' });

let env;
let server;
let page;
let broken; // what went wrong in the page

before(async () => { env = await setUp(); });
after(() => env?.tearDown());

beforeEach(async () => {
  server = await env.start();
  page = await env.browser.newPage();
  broken = [];
  page.on('pageerror', (error) => broken.push(error.message));
  page.on('console', (message) => {
    // That a connection fails is what some tests are about.
    if (message.type() === 'error' && !/WebSocket connection|Failed to load resource/.test(message.text())) broken.push(message.text());
  });
});

afterEach(async () => {
  await page.close();
  await server.stop();
  assert.deepEqual(broken, []);
});

// open loads the page once it is live.
async function open() {
  await page.goto(server.url);
  await phase('live');
}

const kind = (key) => page.locator(`#kinds > tbody[data-key="${key}"]`);
const cell = (key, name) => kind(key).locator(`> tr.kind > td.${name}`);
const namespace = (key, name) => kind(key).locator(`tr.detail tr[data-key="${name}"]`);
const button = (key) => kind(key).getByRole('button').first();

// eventually waits for a locator's text to be want, or to match it.
async function eventually(locator, want, timeout = 5000) {
  const end = Date.now() + timeout;
  let got;
  do {
    got = (await locator.allTextContents()).map((text) => text.trim()).join(' | ');
    if (want instanceof RegExp ? want.test(got) : got === want) return;
    await new Promise((resolve) => { setTimeout(resolve, 20); });
  } while (Date.now() < end);
  assert.fail(`${locator} is "${got}", want ${want}`);
}

const phase = (want, timeout) => eventually(page.locator('#phase'), want, timeout);
const gone = (locator) => locator.waitFor({ state: 'detached', timeout: 5000 });

// golden compares with a file beside this one, or with UPDATE=1 writes it.
async function golden(name, got) {
  const path = join(import.meta.dirname, name);
  if (process.env.UPDATE) await writeFile(path, `${got}\n`);
  assert.equal(`${got}\n`, await readFile(path, 'utf8'));
}

test('C4: a count goes up by one and down by one without a reload', async () => {
  await server.count(deployments, objects('a', 2));
  await open();
  let loads = 0;
  page.on('load', () => { loads++; });
  await eventually(cell('deployments.apps', 'count'), '2');
  await server.put(deployments, object('b', 'new'));
  await eventually(cell('deployments.apps', 'count'), '3');
  await eventually(page.locator('#total-objects'), '3');
  await server.remove(deployments, object('b', 'new'));
  await eventually(cell('deployments.apps', 'count'), '2');
  assert.equal(loads, 0);
});

test('C5: the sum of the namespaces is the total, for any filter that shows them all', async () => {
  await server.count(pods, [...objects('kube-system', 3), ...objects('cattle-system', 4), ...objects('default', 5)]);
  await open();
  await button('pods').click();
  await eventually(kind('pods').locator('.sum'), '12 in 3 namespaces');
  await eventually(cell('pods', 'count'), '12');
  const numbers = await kind('pods').locator('tr.detail td.count').allTextContents();
  assert.deepEqual(numbers.map(Number).toSorted(), [3, 4, 5]);
  await page.locator('#filter').fill('cattle');
  await eventually(kind('pods').locator('.sum'), '4 in 1 of 3 namespaces');
});

test('C6: the row of a namespace goes with its last object', async () => {
  await server.count(pods, [object('a', 'x', 'failed', { error: true }), object('b', 'y', 'running')]);
  await open();
  await button('pods').click();
  await eventually(namespace('pods', 'a').locator('td'), '1 | 1 | 0 | failed 1');
  await server.remove(pods, object('a', 'x'));
  await gone(namespace('pods', 'a'));
  await eventually(cell('pods', 'errors'), '0');
  await eventually(kind('pods').locator('> tr.kind .word'), 'running 1');
  await eventually(cell('pods', 'namespaces'), '1');
});

test('C9: a kind that is installed comes with its objects, and goes when it is removed', async () => {
  await server.count(pods, objects('a', 1));
  await open();
  await server.count(widgets, objects('a', 3));
  await eventually(cell('widgets.example.com', 'count'), '3');
  await eventually(kind('widgets.example.com').locator('.what'), 'Widget · v1alpha1');
  await server.do('close', { resource: widgets });
  await gone(kind('widgets.example.com'));
  await eventually(page.locator('#total-kinds'), '1');
});

test('C26: forbidden, syncing, failing and zero are four different answers', async () => {
  const secrets = resource('secrets', 'Secret');
  const jobs = resource('jobs', 'Job', { group: 'batch' });
  const events = resource('events', 'Event');
  const metrics = resource('pods', 'PodMetrics', { group: 'metrics.k8s.io' });
  const copies = resource('events', 'Event', { group: 'events.k8s.io' });
  await server.count(nodes);
  await server.count(jobs, objects('a', 7));
  await server.do('begin', { resource: events });
  await server.do('phase', { resource: events, status: { phase: 'syncing', read: 1200 } });
  await server.do('phase', { resource: secrets, status: { phase: 'forbidden', reason: 'Forbidden', message: 'cannot list secrets' } });
  await server.do('phase', { resource: metrics, status: { phase: 'failing', reason: 'ServiceUnavailable', message: 'no endpoints' } });
  await server.do('phase', { resource: jobs, status: { phase: 'failing', counted: true, reason: 'Timeout', message: 'no answer' } });
  await server.do('phase', { resource: copies, status: { phase: 'excluded', reason: 'Duplicate', message: 'serves the same objects as events' } });
  await open();
  await eventually(cell('nodes', 'count'), '0');
  await eventually(cell('secrets', 'count'), '— forbidden');
  await eventually(cell('secrets', 'states'), /^Forbidden: cannot list secrets/);
  await eventually(cell('events', 'count'), '— syncing');
  await eventually(cell('events', 'states'), /^1,200 read so far/);
  await eventually(cell('pods.metrics.k8s.io', 'count'), '— failing');
  await eventually(cell('pods.metrics.k8s.io', 'states'), /^ServiceUnavailable: no endpoints/);
  await eventually(cell('jobs.batch', 'count'), '7 stale');
  await eventually(cell('jobs.batch', 'states'), /^Timeout: no answer · stale since/);
  await eventually(page.locator('#total-incomplete'), '4');
  await page.locator('#excluded summary').click();
  await eventually(page.locator('#excluded tr[data-key="events.events.k8s.io"] td'), 'excluded · Duplicate: serves the same objects as events');
  assert.equal(await kind('events.events.k8s.io').count(), 0);

  // What was unknown becomes known, without a reload.
  await server.do('end', { resource: events });
  await eventually(cell('events', 'count'), '0');
});

test('a connection that is cut is taken up again where it ended', async () => {
  await server.count(pods, objects('a', 3));
  await open();
  const asked = [];
  page.on('websocket', (socket) => socket.on('framesent', ({ payload }) => asked.push(JSON.parse(payload))));
  await server.do('cut');
  await phase('reconnecting');
  await eventually(page.locator('#age'), /^in \d+ s, stale since \d\d:\d\d:\d\d$/);
  assert.equal(await page.locator('body').getAttribute('class'), 'stale');
  await eventually(cell('pods', 'count'), '3');
  await server.remove(pods, object('a', '0'));
  await server.put(pods, object('b', 'x'), object('b', 'y'));
  await server.do('mend');
  await phase('live', 15_000);
  await eventually(cell('pods', 'count'), '4');
  assert.ok(asked.some(({ epoch, since }) => epoch && since > 0), `no question resumed: ${JSON.stringify(asked)}`);
});

test('a server that starts over is never shown as a continuation of the old one', async () => {
  await server.count(pods, [...objects('a', 3), ...objects('old', 6)]);
  await server.count(widgets, objects('a', 1));
  await open();
  await eventually(cell('pods', 'count'), '9');
  await server.kill();
  await phase('reconnecting');
  server = await env.start(new URL(server.url).host);
  const seen = [];
  await page.exposeFunction('saw', (text) => seen.push(text));
  await page.evaluate(() => new MutationObserver(() => {
    const count = document.querySelector('tbody[data-key=pods] td.count');
    window.saw(count ? count.textContent : 'gone');
  }).observe(document.querySelector('#kinds'), { subtree: true, childList: true, characterData: true }));
  await server.count(pods, objects('a', 2));
  await phase('live', 15_000);
  await eventually(cell('pods', 'count'), '2');
  await gone(kind('widgets.example.com'));
  await button('pods').click();
  await eventually(kind('pods').locator('.sum'), '2 in 1 namespace');
  const known = ['9', '— syncing', 'gone', '2']; // never 0, 3 or 6
  assert.deepEqual(seen.filter((text) => !known.includes(text)), []);
});

test('a server that drains says so, and Retry now does not wait', async () => {
  await server.count(pods, objects('a', 1));
  await open();
  await server.stop();
  await phase('reconnecting');
  await eventually(page.locator('#problem'), /shuts down|lost/);
  server = await env.start(new URL(server.url).host);
  await server.count(pods, objects('a', 2));
  await page.locator('#retry').click({ timeout: 1000 }).catch(() => {}); // it may have come back by itself
  await phase('live', 15_000);
  await eventually(cell('pods', 'count'), '2');
  assert.equal(await page.locator('#retry').isVisible(), false);
});

test('an open socket is not live before it has said something valid', async () => {
  let socket;
  await page.routeWebSocket(/watch/, (ws) => { socket = ws; });
  await page.goto(server.url);
  await page.waitForTimeout(300);
  await phase('connecting');
  await eventually(page.locator('#total-objects'), '–');
  socket.send(JSON.stringify({ type: 'snapshot', epoch: 'e', seq: 5, resources: { pods: { kind: 'Pod', version: 'v1', namespaced: true, summary: { count: 2 } } } }));
  await phase('live');
  await eventually(cell('pods', 'count'), '2');
});

test('a change that does not follow from what is held is not merged', async () => {
  const questions = [];
  await page.routeWebSocket(/watch/, (ws) => {
    ws.onMessage((text) => {
      questions.push(JSON.parse(text));
      ws.send(JSON.stringify({ type: 'snapshot', epoch: 'e', seq: 5, resources: { pods: { kind: 'Pod', version: 'v1', namespaced: true, summary: { count: 2 } } } }));
      if (questions.length === 1) ws.send(JSON.stringify({ type: 'delta', epoch: 'e', from: 6, seq: 7, resources: { pods: { summary: { count: 99 } } } }));
    });
  });
  await page.goto(server.url);
  await eventually(page.locator('#problem'), /not held/);
  await phase('live');
  await eventually(cell('pods', 'count'), '2');
  assert.deepEqual(questions, [{}, {}]);
});

test('names that look like markup are shown as text', async () => {
  const evil = '<img src=x onerror=document.title=1>';
  await server.count(resource('x', `${evil}Kind`), [object(`${evil}ns`, 'a', `${evil}word`)]);
  await server.do('phase', { resource: resource('y', 'Y'), status: { phase: 'failing', reason: 'R', message: evil } });
  await open();
  await button('x').click();
  await eventually(kind('x').locator('tr.detail tbody th'), `${evil}ns`);
  await eventually(kind('x').locator('> tr.kind .word'), `${evil}word 1`);
  await eventually(kind('x').locator('.what'), `${evil}Kind · v1`);
  await eventually(cell('y', 'states'), new RegExp(`^R: ${evil}`));
  assert.equal(await page.locator('img').count(), 0);
  assert.equal(await page.title(), 'countd');
});

test('all can be done with the keyboard', async () => {
  await server.count(pods, [...objects('a', 5), ...objects('b', 1)]);
  await server.count(deployments, objects('a', 2));
  await server.count(nodes, objects('', 3));
  await open();
  await eventually(page.locator('#kinds .key'), 'pods | nodes | deployments.apps');
  await page.keyboard.press('/');
  await page.keyboard.type('pod');
  await eventually(page.locator('#kinds .key'), 'pods');
  await page.keyboard.press('Enter'); // from the box to the first kind
  await page.keyboard.press('Enter');
  await eventually(kind('pods').locator('tr.detail tbody th'), 'a | b');
  assert.equal(await button('pods').getAttribute('aria-expanded'), 'true');
  await page.keyboard.press('Escape');
  await gone(kind('pods').locator('tr.detail'));
  assert.equal(await button('pods').evaluate((e) => e === document.activeElement), true);
  await page.keyboard.press('Escape'); // the filter
  await eventually(page.locator('#kinds .key'), 'pods | nodes | deployments.apps');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'nodes');
});

test('a row that has the focus keeps its place and the focus while counts change', async () => {
  await server.count(pods, objects('a', 5));
  await server.count(deployments, objects('a', 3));
  await server.count(widgets, objects('a', 1));
  await open();
  await button('widgets.example.com').focus();
  await server.put(widgets, ...objects('b', 9));
  await eventually(cell('widgets.example.com', 'count'), '10');
  await eventually(page.locator('#kinds .key'), 'pods | deployments.apps | widgets.example.com');
  assert.equal(await button('widgets.example.com').evaluate((e) => e === document.activeElement), true);
  await page.locator('#filter').focus();
  await eventually(page.locator('#kinds .key'), 'widgets.example.com | pods | deployments.apps');
});

test('columns sort, and say so', async () => {
  await server.count(pods, objects('a', 1, 'failed', { error: true }));
  await server.count(deployments, objects('a', 5));
  await server.do('begin', { resource: widgets });
  await open();
  await eventually(page.locator('#kinds .key'), 'deployments.apps | pods | widgets.example.com');
  await page.getByRole('button', { name: 'Errors' }).click();
  await eventually(page.locator('#kinds .key'), 'pods | deployments.apps | widgets.example.com');
  await page.getByRole('button', { name: 'Kind' }).click();
  await eventually(page.locator('#kinds .key'), 'deployments.apps | pods | widgets.example.com');
  assert.deepEqual(await page.locator('#kinds th[aria-sort]').evaluateAll((all) => all.map((th) => [th.textContent, th.ariaSort])), [['Kind', 'ascending']]);
});

test('it paints at most four times a second, and the last state', async () => {
  await server.count(pods, objects('a', 1));
  await open();
  await page.evaluate(() => {
    window.paints = 0;
    const count = document.querySelector('tbody[data-key=pods] td.count');
    new MutationObserver(() => { window.paints++; }).observe(count, { subtree: true, childList: true, characterData: true });
  });
  const start = Date.now();
  for (let i = 1; i < 200; i++) {
    await server.put(pods, object('a', `more${i}`));
    await new Promise((resolve) => { setTimeout(resolve, 5); });
  }
  await eventually(cell('pods', 'count'), '200');
  const paints = await page.evaluate(() => window.paints);
  const most = Math.ceil((Date.now() - start) / 250) + 1;
  assert.ok(paints >= 2 && paints <= most, `${paints} paints, want 2 to ${most}`);
});

test('a hidden tab is not painted, and catches up when it is shown', async () => {
  await server.count(pods, objects('a', 1));
  await open();
  await eventually(cell('pods', 'count'), '1');
  const show = (hidden) => page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { value, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  await show(true);
  await server.put(pods, object('a', 'new'));
  await page.waitForTimeout(1200); // the time in which it would have been
  assert.equal(await cell('pods', 'count').textContent(), '1');
  await show(false);
  await eventually(cell('pods', 'count'), '2');
});

test('the page is an outline that a screen reader can follow', async () => {
  await server.count(pods, [...objects('a', 2, 'running'), object('b', 'x', 'failed', { error: true })]);
  await open();
  await button('pods').click();
  await eventually(kind('pods').locator('.sum'), '3 in 2 namespaces');
  assert.equal(await page.locator('h1').count(), 1);
  await golden('kinds.aria.yaml', await page.locator('#kinds').ariaSnapshot());
  await eventually(page.locator('#announcement'), '3 objects of 1 kind, 1 in error', 12_000);
});
