import { isObject, merge } from './merge.js';

const FIRST_DELAY = 1_000; // ms; doubles with each attempt that fails
const LONGEST_DELAY = 30_000;
const STEADY = 10_000; // a connection this old starts the delays over
const PATIENCE = 15_000; // for the first message of a connection

// Stream follows the counts over a websocket and holds them in resources, by
// merging the differences that the server sends. A connection that is lost is
// taken up again from the state that is held, after a delay that grows and that
// chance spreads, so that not all browsers come back at once; a server that shuts down
// says itself after which.
//
// phase is 'connecting', 'live' or 'waiting' (until `until`); it is live only
// after a valid message. A message that does not follow from the state that is
// held is never merged: the state is fetched as a whole instead.
export class Stream {
  phase = 'connecting';
  until = 0; // when the next attempt is made
  heard = 0; // when the last valid message came; 0 before the first
  problem = ''; // why the last connection ended
  resources = Object.create(null);

  #url;
  #changed;
  #held = null; // { epoch, since }: what to resume from
  #socket = null;
  #timer = 0;
  #attempt = 0;
  #liveSince = 0;

  // changed is called after each change, with true where the connection is new or
  // resources came or went.
  constructor(url, changed) {
    this.#url = url;
    this.#changed = changed;
  }

  connect() {
    this.#drop();
    this.phase = 'connecting';
    const socket = new WebSocket(this.#url, 'v1.countd');
    this.#socket = socket;
    socket.onopen = () => socket.send(JSON.stringify(this.#held ?? {}));
    socket.onmessage = (event) => this.#receive(event.data);
    socket.onclose = (event) => this.lost(closing(event), comeBack(event));
    this.#timer = setTimeout(() => this.lost('no answer'), PATIENCE);
    this.#changed(false);
  }

  // lost gives the connection up and tries again later: after the given ms, if any.
  lost(problem, after) {
    this.#drop();
    if (this.phase === 'live' && Date.now() - this.#liveSince > STEADY) this.#attempt = 0;
    const longest = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** this.#attempt);
    const delay = after ?? longest / 2 + Math.random() * (longest / 2);
    this.#attempt++;
    this.phase = 'waiting';
    this.problem = problem;
    this.until = Date.now() + delay;
    this.#timer = setTimeout(() => this.connect(), delay);
    this.#changed(false);
  }

  // retry connects now instead of later.
  retry() {
    if (this.phase === 'waiting') this.connect();
  }

  #drop() {
    clearTimeout(this.#timer);
    if (!this.#socket) return;
    this.#socket.onopen = this.#socket.onmessage = this.#socket.onclose = null;
    this.#socket.close();
    this.#socket = null;
  }

  #receive(data) {
    let regrouped;
    try {
      regrouped = this.#take(JSON.parse(data));
    } catch (error) {
      this.#held = null;
      this.lost(error.message);
      return;
    }
    if (regrouped === undefined) return;
    clearTimeout(this.#timer);
    const begun = this.phase !== 'live';
    if (begun) this.#liveSince = Date.now();
    this.phase = 'live';
    this.problem = '';
    this.heard = Date.now();
    this.#changed(begun || regrouped);
  }

  // take applies a message and returns whether resources came or went, or
  // undefined where it says nothing about counts.
  #take(message) {
    if (!isObject(message)) throw new Error('the server sent no message');
    switch (message.type) {
      case 'snapshot':
        this.resources = merge(undefined, checked(message).resources);
        this.#held = { epoch: message.epoch, since: message.seq };
        return true;
      case 'delta': {
        const { epoch, from, seq, resources } = checked(message);
        if (epoch !== this.#held?.epoch || from !== this.#held.since) {
          throw new Error('the server sent a change of a state that is not held here');
        }
        const regrouped = Object.entries(resources).some(([key, patch]) => patch === null || !(key in this.resources));
        merge(this.resources, resources);
        this.#held = { epoch, since: seq };
        return regrouped;
      }
      case 'error':
        throw new Error(`${message.reason}: ${message.message}`);
      default:
        return undefined; // of a later version
    }
  }
}

function checked(message) {
  if (typeof message.epoch === 'string' && Number.isSafeInteger(message.seq) && isObject(message.resources)) return message;
  throw new Error('the server sent a message that cannot be read');
}

// comeBack is the ms after which a server that shuts down asks its clients to come back.
function comeBack(event) {
  const hint = event.code === 1001 && /; reconnect after (\d{1,5}) ms$/.exec(event.reason);
  return hint ? Number(hint[1]) : undefined;
}

function closing(event) {
  if (event.reason) return event.reason;
  return event.code === 1006 ? 'the connection was lost' : `the server closed the connection (${event.code})`;
}
