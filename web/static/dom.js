// Small helpers for the document. Text is only ever set as text: names come from
// the cluster, and may look like markup.

export function element(name, { text, ...attributes } = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  if (text !== undefined) e.textContent = text;
  e.append(...children);
  return e;
}

// setText touches the document only where something changes.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// reconcile makes the children of parent that follow `after` (or all, where that
// is null) those of the items, in order. Children are kept by key, so that focus
// and selection survive; one that stays in its place is not touched.
export function reconcile(parent, after, items, kept, create, update) {
  const wanted = new Set(items.map((item) => item.key));
  for (const [key, child] of kept) {
    if (wanted.has(key)) continue;
    child.remove();
    kept.delete(key);
  }
  let next = after ? after.nextSibling : parent.firstChild;
  for (const item of items) {
    let child = kept.get(item.key);
    if (!child) kept.set(item.key, (child = create(item)));
    update(child, item);
    if (child === next) next = next.nextSibling;
    else parent.insertBefore(child, next);
  }
}

const decimal = new Intl.NumberFormat('en');
export const format = (number) => decimal.format(number);
export const many = (number, word) => `${format(number)} ${word}${number === 1 ? '' : 's'}`;

// duration says a time in its largest unit.
export function duration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

export const clock = (date) => date.toLocaleTimeString('en-GB');
