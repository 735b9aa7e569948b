import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

const root = join(import.meta.dirname, '..', '..');
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

// setUp builds the server, starts a browser with an empty profile, and returns
// both with a function that ends them.
export async function setUp() {
  if (!existsSync(CHROMIUM)) throw new Error(`no Chromium at ${CHROMIUM}: install it, or say with CHROMIUM where it is`);
  const dir = mkdtempSync(join(tmpdir(), 'countd-page-'));
  const binary = join(dir, 'server');
  execFileSync('go', ['build', '-o', binary, './web/test/server'], { cwd: root, stdio: 'inherit' });
  const browser = await chromium.launchPersistentContext(join(dir, 'profile'), { executablePath: CHROMIUM, args: FLAGS });
  return {
    browser,
    start: (listen) => Server.start(binary, listen),
    async tearDown() {
      await browser.close();
      rmSync(dir, { recursive: true });
    },
  };
}

// Server is a countd whose counts the test dictates; see server/main.go.
export class Server {
  #process;
  #answers;

  static async start(binary, listen = '127.0.0.1:0') {
    const server = new Server();
    server.#process = spawn(binary, ['-listen', listen], { stdio: ['pipe', 'pipe', 'ignore'] });
    server.#answers = createInterface(server.#process.stdout)[Symbol.asyncIterator]();
    server.url = (await server.#answer()).url;
    return server;
  }

  async #answer() {
    const { value, done } = await this.#answers.next();
    if (done) throw new Error('the server has ended');
    return JSON.parse(value);
  }

  async do(what, more = {}) {
    this.#process.stdin.write(`${JSON.stringify({ do: what, ...more })}\n`);
    const { error } = await this.#answer();
    if (error) throw new Error(error);
  }

  // count makes the server count a resource that has some objects.
  async count(resource, objects = []) {
    await this.do('begin', { resource });
    if (objects.length > 0) await this.put(resource, ...objects);
    await this.do('end', { resource });
  }

  put(resource, ...objects) { return this.do('put', { resource, objects }); }
  remove(resource, ...objects) { return this.do('remove', { resource, objects }); }

  // stop ends the server in good order, kill as a crash would.
  async stop() { await this.#end(() => this.#process.stdin.end()); }
  async kill() { await this.#end(() => this.#process.kill('SIGKILL')); }

  async #end(how) {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exit = once(this.#process, 'exit');
    how();
    await exit;
  }
}

export const resource = (name, kind, { group = '', version = 'v1', namespaced = true } = {}) => (
  { name, kind, group, version, namespaced });

export const object = (namespace, name, word = '', { error = false, transitioning = false } = {}) => (
  { namespace, name, state: { word, error, transitioning } });

export const objects = (namespace, number, word = '', flags = {}) => (
  Array.from({ length: number }, (_, i) => object(namespace, `${word}${i}`, word, flags)));
