// The Rancher dashboard's store of a cluster, its web worker included, driven by a
// test: node bundle.js URL [advanced]. Each line on standard input is a command,
// an object whose member "do" names it, and is answered by the event "answer" or
// "failed". All other events are told as they happen.
import { request, tell } from './browser.js';
import { createInterface } from 'node:readline';
import { createStore } from 'vuex';
import Steve from '@shell/plugins/steve';
import '@shell/plugins/steve/worker/web-worker.advanced.js'; // sets self.onmessage
import { resourceCounts } from '@shell/components/ResourceSummary.vue';
import namespacePage from '@shell/detail/namespace.vue';

const advanced = process.argv[3] === 'advanced';
const settings = { value: JSON.stringify({ advancedWorker: { enabled: advanced } }) };

const none = () => undefined;
const store = createStore({
  state: { $extension: { getDynamic: none } },
  // What the rest of the dashboard says to a store of a cluster.
  getters: {
    currentStore: () => () => 'cluster',
    clusterId: () => 'local',
    currentCluster: () => ({ id: 'local' }),
    isAllNamespaces: () => true,
    activeNamespaceCache: () => ({}),
    isSingleProduct: () => undefined,
    'type-map/optionsFor': () => () => ({}),
    'type-map/isSpoofed': () => () => false,
    'type-map/allSpoofedSchemas': () => [],
    'features/get': () => () => false,
    'prefs/get': () => () => '',
    'i18n/t': () => (key) => key,
    'growl/find': () => none,
    'management/byId': () => () => settings,
    'management/all': () => () => [],
    'management/schemaFor': () => none,
    'auth/fromHeader': () => undefined,
    'cookies/get': () => none,
  },
  actions: { 'growl/error': none, 'growl/success': none, 'growl/remove': none },
});
store.$axios = request;
store.$config = {};

// The worker runs in this thread: what is posted to one side arrives at the other
// as a copy, later.
store.steveCreateWorker = (mode) => {
  const worker = { mode, onmessage: none, postMessage: none };
  if (advanced) {
    const post = (to) => (data) => {
      const copy = structuredClone(data);
      setImmediate(() => to()({ data: copy }));
    };
    worker.postMessage = post(() => self.onmessage);
    self.postMessage = post(() => worker.onmessage);
  }
  return worker;
};
Steve({ namespace: 'cluster', baseUrl: '/v1', supportsStream: false })(store);

const all = (type) => store.getters['cluster/all'](type);

// state tells what the dashboard shows, once a turn of the loop.
let told = false;
function state() {
  if (told) return;
  told = true;
  setImmediate(() => {
    told = false;
    const { started, inError } = store.state.cluster;
    tell({ event: 'state', counts: all('count')?.[0]?.counts ?? {}, started, errors: Object.values(inError).map(({ reason }) => reason) });
  });
}
store.subscribe(state);

const commands = {
  // load and subscribe are what the dashboard does when somebody opens a cluster.
  async load({ watch = true }) {
    await store.dispatch('cluster/loadSchemas', watch);
    await store.dispatch('cluster/findAll', { type: 'count', opt: { watch } });
  },
  subscribe: () => store.dispatch('cluster/subscribe'),
  watch: ({ watch }) => store.dispatch('cluster/watch', watch),
  unwatch: ({ watch }) => store.dispatch('cluster/unwatch', watch),
  reload: () => store.dispatch('cluster/findAll', { type: 'count', opt: { force: true } }),
  unsubscribe: () => store.dispatch('cluster/unsubscribe'),
  // What stands beside a kind in the side bar and on the overview.
  summary: ({ type }) => resourceCounts(store, type),
  kind: ({ type }) => store.getters['cluster/all']('count')?.[0]?.counts?.[type],
  // What the page of a namespace lists.
  namespace: ({ namespace }) => {
    const { computed, methods } = namespacePage;
    return computed.namespacedResourceCounts.call({ ...methods, $store: store, inStore: 'cluster', value: { id: namespace }, schemaFor: none })
      .map(({ type, totalCount }) => ({ type, totalCount }));
  },
};

async function obey() {
  for await (const line of createInterface({ input: process.stdin })) {
    const { do: name, ...args } = JSON.parse(line);
    try {
      tell({ event: 'answer', answer: (await commands[name](args)) ?? null });
    } catch (error) {
      tell({ event: 'failed', text: String(error?.stack ?? JSON.stringify(error)) });
    }
    state();
  }
}

obey().then(() => process.exit());
