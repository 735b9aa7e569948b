// What the page shows, as plain values made from what the server says.

// numbers are those of a summary, all of them there.
function numbers(summary) {
  return {
    count: summary?.count ?? 0,
    errors: summary?.errors ?? 0,
    progress: summary?.transitioning ?? 0,
    states: Object.entries(summary?.states ?? {}).sort(([, a], [, b]) => b - a),
  };
}

// rows returns one row for each resource that is counted, or that the server
// knows and does not count.
//
// resources is the state of the stream, statuses the answer of /api/v1/resources
// by resource (empty before the first). A row whose `counted` is false has no
// numbers, which is another thing than the number 0; one that is `stale` has those
// of the time before its resource could no longer be followed.
export function rows(resources, statuses) {
  // A resource that is ready and has no count is gone; its status is of before.
  const uncounted = Object.keys(statuses).filter((key) => !(key in resources) && statuses[key].phase !== 'ready');
  return [...Object.keys(resources), ...uncounted].map((key) => row(key, resources[key], statuses[key]));
}

function row(key, item, status) {
  const counted = item !== undefined;
  const phase = status?.phase ?? 'ready';
  return {
    key,
    kind: item?.kind ?? status?.kind ?? '',
    version: item?.version ?? status?.version ?? '',
    namespaced: item?.namespaced ?? status?.namespaced ?? false,
    counted,
    ...numbers(item?.summary),
    namespaces: counted && item.namespaced ? Object.keys(item.namespaces ?? {}).length : null,
    phase,
    stale: counted && status?.counted === true && phase !== 'ready',
    since: status?.since ? new Date(status.since) : null,
    read: status?.read ?? 0,
    why: [status?.reason, status?.message].filter(Boolean).join(': '),
    note: status?.note ?? '',
  };
}

// namespaceRows returns one row for each namespace that holds objects of a
// resource.
export function namespaceRows(item) {
  return Object.entries(item?.namespaces ?? {}).map(([key, summary]) => ({ key, counted: true, ...numbers(summary) }));
}

export function totals(rows, resources) {
  const namespaces = new Set();
  for (const item of Object.values(resources)) {
    for (const namespace of Object.keys(item.namespaces ?? {})) namespaces.add(namespace);
  }
  const sum = (field) => rows.reduce((total, row) => total + row[field], 0);
  const missing = rows.filter((row) => !row.counted && row.phase !== 'excluded').length;
  return {
    objects: sum('count'),
    errors: sum('errors'),
    progress: sum('progress'),
    kinds: rows.filter((row) => row.counted).length,
    namespaces: namespaces.size,
    incomplete: missing + rows.filter((row) => row.stale).length,
  };
}

// sorted returns rows in order; those without numbers come last either way.
export function sorted(rows, by, descending) {
  const sign = descending ? -1 : 1;
  const byKey = (a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
  return rows.toSorted((a, b) => {
    if (by === 'key') return sign * byKey(a, b);
    const [x, y] = [a, b].map((row) => (row.counted ? row[by] : null));
    if (x === y) return byKey(a, b);
    if (x === null || y === null) return x === null ? 1 : -1;
    return sign * (x - y);
  });
}
