// JSON Merge Patch, RFC 7396.

export function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// merge applies a patch to target and returns the result, which is target itself
// where both are objects. Objects that it makes have no prototype: state words
// come from the cluster, and "__proto__" may be one.
export function merge(target, patch) {
  if (!isObject(patch)) return patch;
  const result = isObject(target) ? target : Object.create(null);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merge(result[name], value);
  }
  return result;
}
