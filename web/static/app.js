import { clock, duration, element, format, many, reconcile, setText } from './dom.js';
import { rows, totals } from './model.js';
import { Stream } from './stream.js';
import { Table } from './table.js';

const PAINT_EVERY = 250; // ms
const ANNOUNCE_EVERY = 10_000;
const ASK_EVERY = 30_000; // for the statuses of resources
const ASK_SOON = 2_000; // while some are syncing, and at most this often
const ASK_TIMEOUT = 10_000;

const $ = (id) => document.getElementById(id);
const at = (path) => new URL(path, document.baseURI);

// What the server says.
const watch = at('api/v1/watch');
watch.protocol = watch.protocol.replace('http', 'ws');
const stream = new Stream(watch, (regrouped) => {
  if (regrouped) ask.soon();
  repaint();
});
let statuses = {};

// What the user asks for.
const table = new Table($('kinds'), respond);
const filter = $('filter');
const hideEmpty = $('hide-empty');

// ask gets the statuses of resources: at once when resources come and go, now
// and then otherwise. That it fails shows a connection that is dead although
// nobody has closed it.
const ask = {
  timer: 0,
  last: 0,
  busy: false,
  again: false, // something changed after the question was put
  soon() {
    this.again = true;
    if (!this.busy) this.in(Math.max(50, this.last + ASK_SOON - Date.now()));
  },
  in(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(), ms);
  },
  async now() {
    this.last = Date.now();
    this.busy = true;
    this.again = false;
    try {
      const response = await fetch(at('api/v1/resources'), { signal: AbortSignal.timeout(ASK_TIMEOUT) });
      const answer = await response.json();
      if (!response.ok) throw new Error(answer.message);
      statuses = answer.resources ?? {};
      repaint();
    } catch (error) {
      if (stream.phase === 'live') stream.lost(`asking for resources: ${error.message}`);
    }
    this.busy = false;
    const syncing = Object.values(statuses).some((status) => status.phase === 'syncing');
    this.in(this.again || syncing ? ASK_SOON : ASK_EVERY);
  },
};

// repaint paints soon: at most four times a second, and not in a hidden tab,
// which catches up when it is shown.
let painted = 0;
let planned = false;
function repaint() {
  if (planned || document.hidden) return;
  planned = true;
  setTimeout(() => requestAnimationFrame(() => {
    planned = false;
    if (document.hidden) return; // it was hidden meanwhile
    painted = Date.now();
    paint();
  }), Math.max(0, painted + PAINT_EVERY - Date.now()));
}

// respond paints at once: the user waits.
function respond() {
  requestAnimationFrame(paint);
}

function paint() {
  paintConnection();
  if (stream.heard === 0) return; // nothing is known, not even that there is nothing
  const all = rows(stream.resources, statuses);
  const sums = totals(all, stream.resources);
  paintTotals(sums);
  paintKinds(all);
  paintExcluded(all.filter((row) => !row.counted && row.phase === 'excluded'));
  announce(sums);
}

function paintKinds(all) {
  const query = filter.value.trim().toLowerCase();
  const kinds = all.filter((row) => row.counted || row.phase !== 'excluded');
  const shown = kinds.filter((row) => matches(row, query) && !(hideEmpty.checked && row.counted && row.count === 0));
  table.paint(shown, stream.resources, query);
  setText($('matches'), shown.length === kinds.length ? '' : `${format(shown.length)} of ${many(kinds.length, 'kind')}`);
  $('nothing').hidden = shown.length > 0;
  setText($('nothing'), kinds.length === 0 ? 'The cluster has nothing to count yet.' : 'Nothing matches.');
}

function matches(row, query) {
  if (query === '' || row.key.includes(query) || row.kind.toLowerCase().includes(query)) return true;
  return Object.keys(stream.resources[row.key]?.namespaces ?? {}).some((namespace) => namespace.includes(query));
}

function paintConnection() {
  const { phase, heard, until, problem } = stream;
  document.body.dataset.phase = $('connection').dataset.phase = phase;
  document.body.classList.toggle('stale', phase !== 'live' && heard > 0);
  setText($('phase'), { live: 'live', connecting: heard ? 'reconnecting' : 'connecting', waiting: 'reconnecting' }[phase]);
  const parts = [];
  if (phase === 'live') parts.push(`last message ${duration(Date.now() - heard)} ago`);
  if (phase === 'waiting') parts.push(`in ${Math.max(1, Math.ceil((until - Date.now()) / 1000))} s`);
  if (phase !== 'live' && heard > 0) parts.push(`stale since ${clock(new Date(heard))}`);
  setText($('age'), parts.join(', '));
  $('retry').hidden = phase !== 'waiting';
  $('problem').hidden = problem === '';
  setText($('problem'), problem);
}

function paintTotals(sums) {
  for (const [name, number] of Object.entries(sums)) setText($(`total-${name}`), format(number));
  $('incomplete').hidden = sums.incomplete === 0;
  $('total-errors').classList.toggle('some', sums.errors > 0);
}

const excluded = new Map();
function paintExcluded(rows) {
  $('excluded').hidden = rows.length === 0;
  setText($('excluded-number'), many(rows.length, 'kind'));
  const ordered = rows.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  reconcile($('excluded').querySelector('tbody'), null, ordered, excluded, ({ key }) => (
    element('tr', { 'data-key': key }, element('th', { scope: 'row', text: key }), element('td'))
  ), (tr, row) => setText(tr.cells[1], `excluded${row.why ? ` · ${row.why}` : ''}`));
}

// announce tells those who do not see the page, now and then.
let announced = 0;
function announce({ objects, kinds, errors }) {
  const text = `${many(objects, 'object')} of ${many(kinds, 'kind')}, ${format(errors)} in error`;
  if (Date.now() - announced < ANNOUNCE_EVERY || $('announcement').textContent === text) return;
  announced = Date.now();
  setText($('announcement'), text);
}

filter.addEventListener('input', respond);
hideEmpty.addEventListener('change', respond);
$('controls').addEventListener('submit', (event) => {
  event.preventDefault();
  table.move(1);
});
$('retry').addEventListener('click', () => stream.retry());
addEventListener('online', () => stream.retry());
document.addEventListener('visibilitychange', repaint);
setInterval(repaint, 1000); // the age of the last message, the countdown

addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape') {
    if (table.close()) return;
    filter.value = '';
    filter.blur();
    respond();
    return;
  }
  const typing = event.target === filter;
  const inTable = event.target.closest?.('#kinds tbody');
  if (event.key === '/' && !typing) filter.focus();
  else if ((event.key === 'j' && !typing) || (event.key === 'ArrowDown' && (typing || inTable))) table.move(1);
  else if ((event.key === 'k' && !typing) || (event.key === 'ArrowUp' && inTable)) table.move(-1);
  else return;
  event.preventDefault();
});

stream.connect();
