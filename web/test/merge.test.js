import assert from 'node:assert/strict';
import { test } from 'node:test';
import { merge } from '../static/merge.js';

// RFC 7396, appendix A.
const cases = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [['a', 'b'], ['c', 'd'], ['c', 'd']],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

for (const [target, patch, want] of cases) {
  test(`${JSON.stringify(target)} patched with ${JSON.stringify(patch)}`, () => {
    const got = merge(structuredClone(target), patch);
    assert.deepEqual(JSON.parse(JSON.stringify(got)), want);
  });
}

test('a word that is a property of every object is a word like any other', () => {
  const state = merge(undefined, JSON.parse('{"states":{"__proto__":1,"constructor":2}}'));
  assert.equal(JSON.stringify(state), '{"states":{"__proto__":1,"constructor":2}}');
  assert.equal(JSON.stringify(merge(state, JSON.parse('{"states":{"__proto__":null}}'))), '{"states":{"constructor":2}}');
  assert.equal({}.states, undefined);
});
