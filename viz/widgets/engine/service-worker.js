// The service worker of a static page: it keeps the files, so that the page opens without a network. `headlightFiles`, set before
// this code, has a version and the files of the first visit.

const { version, first } = globalThis.headlightFiles;
const PREFIX = 'headlight ';
const CACHE = PREFIX + version;
const worker = /** @type {any} */ (globalThis);

const isVersioned = (url) => /\/(files|models|answers)\//.test(url);

/** Keeps a file that was loaded; its URL has the hash of its content. */
async function store(request, response) {
  if (response.ok) await (await caches.open(CACHE)).put(request, response.clone());
  return response;
}

/** Files never change; the page itself comes from the network if there is one. */
async function respond(request) {
  const stored = await caches.match(request, { ignoreSearch: request.mode === 'navigate' });
  if (stored && isVersioned(request.url)) return stored;
  try {
    return await store(request, await fetch(request));
  } catch (error) {
    const page = stored ?? (request.mode === 'navigate' ? await caches.match('index.html') : undefined);
    if (page) return page;
    throw error;
  }
}

/** Removes the caches of earlier versions, except for files that this version has, too. */
async function removeOld() {
  const cache = await caches.open(CACHE);
  for (const name of await caches.keys()) {
    if (!name.startsWith(PREFIX) || name === CACHE) continue;
    const old = await caches.open(name);
    for (const request of await old.keys()) {
      const isModel = /\/models\//.test(request.url);
      const response = isModel && !(await cache.match(request)) ? await old.match(request) : undefined;
      if (response) await cache.put(request, response);
    }
    await caches.delete(name);
  }
}

worker.addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(first)));
  worker.skipWaiting();
});
worker.addEventListener('activate', (event) => event.waitUntil(removeOld().then(() => worker.clients.claim())));
worker.addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method === 'GET' && new URL(request.url).origin === location.origin) event.respondWith(respond(request));
});
