import { clock, element, format, many, reconcile, setText } from './dom.js';
import { namespaceRows, sorted } from './model.js';

const MOST_WORDS = 6; // state words in a row
const MOST_NAMESPACES = 200; // rows before the rest is asked for

// Table is the table of kinds. Each kind is a tbody of its own: its row and, when
// it is open, a row with its namespaces.
export class Table {
  #table;
  #bodies = new Map(); // key → tbody
  #open = new Map(); // key → state of its namespaces
  #order = []; // keys, as they were last painted
  #by = 'count';
  #descending = true;
  #changed;

  // changed is called when the user has asked for something else to be shown.
  constructor(table, changed) {
    this.#table = table;
    this.#changed = changed;
    for (const button of table.tHead.querySelectorAll('button')) {
      button.addEventListener('click', () => this.#sortBy(button.dataset.by));
    }
    table.addEventListener('click', (event) => {
      const row = event.target.closest('tr.kind');
      if (row && (event.target.closest('button') || getSelection().isCollapsed)) this.#toggle(row.parentElement.dataset.key);
    });
  }

  // paint shows rows. The order stays as it is while somebody points at the table
  // or is in it with the keyboard, so that no row moves away from under them.
  paint(rows, resources, query) {
    const inUse = this.#table.querySelector('tbody:hover, tbody:focus-within') !== null;
    const focused = this.#table.contains(document.activeElement) ? document.activeElement.closest('tbody')?.dataset.key : undefined;
    const before = this.#order;
    const ordered = inUse ? this.#inOldOrder(rows) : sorted(rows, this.#by, this.#descending);
    this.#order = ordered.map((row) => row.key);
    reconcile(this.#table, this.#table.tHead, ordered, this.#bodies, kindBody, (body, row) => {
      paintKind(body, row, this.#open.has(row.key));
      this.#paintDetail(body, row, resources[row.key], query);
    });
    if (focused && !this.#bodies.has(focused)) this.#focus(this.#order[Math.min(before.indexOf(focused), this.#order.length - 1)]);
  }

  // move moves the focus by some rows.
  move(step) {
    const at = this.#order.indexOf(document.activeElement?.closest('tbody')?.dataset.key);
    const next = at < 0 ? (step > 0 ? 0 : this.#order.length - 1) : at + step;
    this.#focus(this.#order[Math.max(0, Math.min(next, this.#order.length - 1))]);
  }

  // close closes the kind that has the focus, or else all, and returns whether
  // there was any.
  close() {
    const here = document.activeElement?.closest('tbody')?.dataset.key;
    if (here && this.#open.delete(here)) this.#focus(here);
    else if (this.#open.size > 0) this.#open.clear();
    else return false;
    this.#changed();
    return true;
  }

  #focus(key) {
    this.#bodies.get(key)?.querySelector('button').focus();
  }

  #toggle(key) {
    if (!this.#open.delete(key)) this.#open.set(key, { rows: new Map(), all: false });
    this.#changed();
  }

  #sortBy(by) {
    this.#descending = by === this.#by ? !this.#descending : by !== 'key';
    this.#by = by;
    for (const button of this.#table.tHead.querySelectorAll('button')) {
      const th = button.closest('th');
      if (button.dataset.by === by) th.setAttribute('aria-sort', this.#descending ? 'descending' : 'ascending');
      else th.removeAttribute('aria-sort');
    }
    this.#order = [];
    this.#changed();
  }

  // inOldOrder keeps rows where they were; new ones come where they belong among
  // them at the end.
  #inOldOrder(rows) {
    const now = sorted(rows, this.#by, this.#descending);
    if (this.#order.length === 0) return now;
    const places = new Map(this.#order.map((key, place) => [key, place]));
    return now.toSorted((a, b) => (places.get(a.key) ?? Infinity) - (places.get(b.key) ?? Infinity) || 0);
  }

  #paintDetail(body, row, item, query) {
    const open = this.#open.get(row.key);
    let detail = body.rows[1];
    if (!open) {
      detail?.remove();
      return;
    }
    if (!detail) {
      detail = detailRow(row.key, () => {
        open.all = true;
        this.#changed();
      });
      body.append(detail);
    }
    paintDetail(detail, row, item, query, open, this.#by, this.#descending);
  }
}

function kindBody(row) {
  // A long key breaks after a dot.
  const key = row.key.split('.').flatMap((part, i) => (i === 0 ? [part] : ['.', element('wbr'), part]));
  const button = element('button', { type: 'button', 'aria-controls': detailID(row.key) }, element('span', { class: 'key' }, ...key));
  const name = element('th', { scope: 'row' }, button, element('small', { class: 'what' }));
  const tr = element('tr', { class: 'kind' }, name, ...numberCells(), element('td', { class: 'number namespaces' }));
  return element('tbody', { 'data-key': row.key }, tr);
}

function numberCells() {
  return [...['count', 'errors', 'progress'].map((name) => element('td', { class: `number ${name}` })), element('td', { class: 'states' })];
}

function paintKind(body, row, open) {
  const tr = body.rows[0];
  tr.dataset.phase = row.phase;
  tr.classList.toggle('uncounted', !row.counted);
  tr.classList.toggle('stale', row.stale);
  tr.classList.toggle('empty', row.counted && row.count === 0);
  const [name, count, errors, progress, states, namespaces] = tr.cells;
  const button = name.firstElementChild;
  button.setAttribute('aria-expanded', String(open));
  setText(name.lastElementChild, [row.kind, row.version].filter(Boolean).join(' · '));
  if (row.counted) {
    paintNumbers([count, errors, progress, states], row);
    setText(namespaces, row.namespaces === null ? '' : format(row.namespaces));
    namespaces.classList.toggle('zero', row.namespaces === 0);
    if (row.stale) mark(count, 'stale');
    if (row.note) mark(count, 'note');
  } else {
    setText(count, '—');
    mark(count, row.phase);
    for (const cell of [errors, progress, namespaces]) setText(cell, '');
  }
  if (row.stale || !row.counted) paintWhy(states, row);
}

function mark(cell, word) {
  if (cell.lastElementChild?.textContent === word) return;
  cell.append(' ', element('span', { class: `mark ${word}`, text: word }));
}

function paintWhy(cell, row) {
  const since = row.since ? `${row.stale ? 'stale since' : 'since'} ${clock(row.since)}` : '';
  const read = row.phase === 'syncing' && row.read > 0 ? `${format(row.read)} read so far` : '';
  setText(cell, [read || row.why, since].filter(Boolean).join(' · '));
  cell.classList.add('why');
}

function paintNumbers([count, errors, progress, states], row) {
  setNumber(count, row.count);
  setNumber(errors, row.errors);
  setNumber(progress, row.progress);
  paintWords(states, row.states);
}

function setNumber(cell, number) {
  setText(cell, format(number));
  cell.classList.toggle('zero', number === 0);
}

function paintWords(cell, words) {
  const shown = words.slice(0, MOST_WORDS);
  const texts = shown.map(([word, number]) => `${word} ${format(number)}`);
  if (words.length > shown.length) texts.push(`${words.length - shown.length} more`);
  cell.classList.remove('why');
  const chips = [...cell.children];
  if (chips.length === texts.length && chips.every((chip) => chip.className === 'word')) {
    texts.forEach((text, i) => setText(chips[i], text));
    return;
  }
  cell.replaceChildren(...texts.map((text) => element('span', { class: 'word', text })));
}

const detailID = (key) => `namespaces-of-${key}`;

function detailRow(key, showAll) {
  const more = element('button', { type: 'button', hidden: '', text: 'Show all' });
  more.addEventListener('click', showAll);
  const columns = { '': 'Namespace', 'number count': 'Count', 'number errors': 'Errors', 'number progress': 'In progress', states: 'States' };
  const head = element('tr', {}, ...Object.entries(columns).map(([name, text]) => element('th', { scope: 'col', class: name, text })));
  const table = element('table', {}, element('caption', { class: 'unseen', text: `Namespaces of ${key}` }), element('thead', {}, head), element('tbody'));
  const cell = element('td', {}, element('p', { class: 'words' }), element('p', { class: 'why' }), table, element('p', { class: 'sum' }), more);
  return element('tr', { class: 'detail', id: detailID(key) }, cell);
}

function paintDetail(detail, row, item, query, open, by, descending) {
  const [cell] = detail.cells;
  cell.colSpan = [...detail.parentElement.rows[0].cells].filter((c) => c.offsetWidth > 0).length; // a small screen hides some
  const [words, why, table, sum, more] = cell.children;
  paintWords(words, row.states);
  setText(why, [row.why, row.note].filter(Boolean).join(' · '));
  const all = namespaceRows(item);
  const matching = row.key.includes(query) || row.kind.toLowerCase().includes(query) ? all : all.filter((n) => n.key.includes(query));
  const ordered = sorted(matching, by === 'namespaces' ? 'count' : by, descending);
  const shown = open.all ? ordered : ordered.slice(0, MOST_NAMESPACES);
  table.hidden = all.length === 0;
  reconcile(table.tBodies[0], null, shown, open.rows, namespaceRow, (tr, n) => paintNumbers([...tr.cells].slice(1), n));
  more.hidden = shown.length === ordered.length;
  setText(sum, sumText(row, all, matching));
}

function namespaceRow({ key }) {
  return element('tr', { 'data-key': key }, element('th', { scope: 'row', text: key }), ...numberCells());
}

function sumText(row, all, matching) {
  if (!row.counted) return 'Nothing is known of its objects.';
  if (!row.namespaced) return 'Its objects are in no namespace.';
  if (all.length === 0) return 'No namespace holds any.';
  const objects = matching.reduce((total, n) => total + n.count, 0);
  const of = matching.length === all.length ? '' : `${format(matching.length)} of `;
  return `${format(objects)} in ${of}${many(all.length, 'namespace')}`;
}
