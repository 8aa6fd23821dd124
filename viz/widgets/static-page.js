// A page without a server. It mounts its widgets here and sends their calls to the engine in a worker.

import { server } from './core/server.js';

/** Mounts all widgets. `globalThis.headlightSite` has their data. */
export function open() {
  document.body.classList.toggle('dark', matchMedia('(prefers-color-scheme: dark)').matches);
  for (const { id, module, value, config } of globalThis.headlightSite.widgets) {
    const element = document.getElementById(id);
    const props = { value, config };
    globalThis.headlightModules[module].mount({ element, props, server, trigger: () => {}, watch: () => {} });
  }
  if (isSecureContext) navigator.serviceWorker?.register('sw.js').catch((error) => console.warn(error));
}
