// What the dashboard finds in a browser, and what a test has to see of it. It is
// loaded before the dashboard.
import { inspect } from 'node:util';

export const base = process.argv[2];

// tell sends the test an event.
export function tell(event) { process.stdout.write(`${JSON.stringify(event)}\n`); }

// Standard output is the test's.
for (const level of ['log', 'info', 'debug', 'warn', 'error']) {
  console[level] = (...args) => process.stderr.write(`${level}: ${args.map((arg) => (typeof arg === 'string' ? arg : inspect(arg))).join(' ')}\n`);
}
// What throws in the dashboard must not go unseen.
process.on('uncaughtException', (error) => tell({ event: 'thrown', text: String(error?.stack ?? inspect(error)) }));

const { origin, protocol } = new URL(base);
globalThis.self = { location: { origin, protocol } };
globalThis.window = { navigator: { platform: 'node', userAgent: 'node' }, location: self.location };

globalThis.WebSocket = class extends WebSocket {
  constructor(url, ...protocols) {
    super(url, ...protocols);
    const { pathname, searchParams } = new URL(url);
    tell({ event: 'dial', text: [pathname, ...searchParams.keys(), ...protocols].join(' ') });
    this.addEventListener('open', () => tell({ event: 'open' }));
    this.addEventListener('message', ({ data }) => tell({ event: 'received', text: data }));
    this.addEventListener('close', ({ code }) => tell({ event: 'close', text: String(code) }));
  }

  send(data) {
    tell({ event: 'sent', text: data });
    super.send(data);
  }
};

// request answers as axios does.
export async function request({ url, method = 'get' }) {
  tell({ event: 'request', text: `${method.toUpperCase()} ${url}` });
  const response = await fetch(new URL(url, base), { method });
  const out = { status: response.status, statusText: response.statusText, headers: {}, data: await response.json() };
  if (!response.ok) throw Object.assign(new Error(`${url}: ${response.status}`), { response: out });
  return out;
}
