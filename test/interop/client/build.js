// Gets the Rancher dashboard's source, which is published unbuilt, and bundles the
// part of it that dashboard.js uses: node build.js FILE.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

// An npm install of the package would bring hundreds of build tools, none of which
// is needed: hence the bare package, whose integrity no lock file holds.
const SHELL = '@rancher/shell@3.0.13';
const INTEGRITY = 'sha512-bkAtBKlTVxq2VXjTjJO0UNMtI8tGjuPeYMeRk3F/W/w18dpIMi3Si13ymyjxX3O5E0uGvw1gRkcm15MHmCMIbg==';

const here = import.meta.dirname;
const shell = join(here, 'shell');

function fetchShell() {
  const name = execFileSync('npm', ['pack', SHELL, '--silent', '--pack-destination', here], { cwd: here, encoding: 'utf8' }).trim();
  const file = join(here, name);
  const integrity = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
  if (integrity !== INTEGRITY) throw new Error(`${SHELL} is not what was published as such: ${integrity}`);
  mkdirSync(shell, { recursive: true });
  execFileSync('tar', ['-xzf', file, '--strip-components=1', '-C', shell]);
}

// Of the pages, only the scripts of these are wanted; all others are empty.
const PAGES = ['components/ResourceSummary.vue', 'detail/namespace.vue'].map((path) => join(shell, path));

const dashboard = {
  name: 'dashboard',
  setup(b) {
    const source = (path) => b.resolve(`./${path}`, { kind: 'import-statement', resolveDir: shell });
    b.onResolve({ filter: /^@shell\// }, ({ path }) => source(path.slice('@shell/'.length)));
    b.onResolve({ filter: /^@components\// }, () => ({ path: 'none', namespace: 'empty' }));
    // A web worker's constructor; dashboard.js runs the worker itself.
    b.onLoad({ filter: /plugins\/steve\/worker\/index\.js$/ }, () => ({
      contents: "export const WORKER_MODES = { WAITING: 'waiting', DESTROY_MOCK: 'destroy', BASIC: 'basic', ADVANCED: 'advanced' };",
    }));
    // Models of types that a page shows: a count has none.
    b.onLoad({ filter: /plugins\/dashboard-store\/model-loader-require\.js$/ }, () => ({
      contents: "export default function(type) { throw Object.assign(new Error(type), { code: 'MODULE_NOT_FOUND' }); }",
    }));
    b.onLoad({ filter: /mixins\/create-edit-view/ }, () => ({ contents: 'export default {};' }));
    b.onLoad({ filter: /\.vue$/ }, ({ path }) => {
      if (!PAGES.includes(path)) return { contents: 'export default {};' };
      const [, script] = /<script>(.*?)<\/script>/s.exec(readFileSync(path, 'utf8'));
      return { contents: script, resolveDir: resolve(path, '..') };
    });
    b.onLoad({ filter: /.*/, namespace: 'empty' }, () => ({ contents: 'export default {};' }));
  },
};

fetchShell();
await build({
  entryPoints: [join(here, 'dashboard.js')],
  outfile: process.argv[2],
  bundle: true,
  platform: 'node',
  format: 'cjs',
  nodePaths: [join(here, 'node_modules')],
  resolveExtensions: ['.ts', '.js', '.json', '.vue'],
  mainFields: ['module', 'main'],
  tsconfigRaw: {},
  loader: { '.svg': 'empty', '.png': 'empty', '.scss': 'empty', '.css': 'empty' },
  plugins: [dashboard],
  logLevel: 'warning',
});
