// The service worker, served as /sw.js behind a line that sets SHELL: what it keeps for a start
// without a connection. It shows and closes notifications, answers from them, and keeps no page that
// has anything of an agent's on it.

const OFFLINE = "/offline";
const GONE = [502, 504]; // a proxy's words for a hub that is not there; the hub itself never says so
const ANSWER_WITHIN_MS = 20000;
const LOST = "Not sent: your computer is not reachable";
const ENDED = "ended";
const SHOWN_MS = 200;
const LOOKED_MS = 4000; // Firefox looks 3 s after a push whether it shows something, Chrome at its end

// ── the start without a connection ─────────────────────────────────────────────────────────────

const cacheName = `shell ${SHELL.version}`;

self.addEventListener("install", (event) => {
  const keep = async () => (await caches.open(cacheName)).addAll([OFFLINE, ...SHELL.files]);
  self.skipWaiting();
  event.waitUntil(keep());
});

self.addEventListener("activate", (event) => {
  const start = async () => {
    for (const name of await caches.keys()) if (name !== cacheName) await caches.delete(name);
    // The page is fetched while the worker starts, not after it.
    await self.registration.navigationPreload?.enable();
    await self.clients.claim();
  };
  event.waitUntil(start());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname, search } = new URL(request.url);
  if (request.method !== "GET" || origin !== self.location.origin) return;
  if (request.mode === "navigate") event.respondWith(navigate(event));
  else if (SHELL.files.includes(pathname + search)) event.respondWith(kept(request));
});

async function navigate({ request, preloadResponse }) {
  try {
    const response = (await preloadResponse?.catch(() => undefined)) ?? (await fetch(request));
    if (!GONE.includes(response.status)) return response;
  } catch {
    // There is no connection.
  }
  return kept(OFFLINE);
}
const kept = async (request) => (await caches.match(request)) ?? fetch(request);

// ── notifications ──────────────────────────────────────────────────────────────────────────────
// What is pushed is a declarative push message (https://www.w3.org/TR/push-api/), with a mark if it
// says what became of a question. An open page sends the same by a message, or what to close.

self.addEventListener("push", (event) => event.waitUntil(inTurn(read(event.data))));
self.addEventListener("message", (event) => event.waitUntil(inTurn(event.data)));

// What is not shown yet cannot be closed, and in Chrome not what was shown just now.
let turn = Promise.resolve();
function inTurn(content) {
  const done = turn.then(() => receive(content));
  turn = done.catch(() => {});
  if (content.notification) turn = turn.then(() => new Promise((go) => setTimeout(go, SHOWN_MS)));
  return done;
}

function read(data) {
  try {
    return data.json();
  } catch {
    return { notification: { title: "chatbridge" } };
  }
}

async function receive({ notification, ended, close, open, app_badge: count }) {
  if (notification) await (ended ? showEnd : show)(notification);
  if (close) await closeAll(({ tag }) => tag === close);
  if (open) await closeAll(({ tag, data }) => isAsk(data?.page) && !open.includes(tag));
  if (count !== undefined) await self.navigator.setAppBadge?.(count).catch(() => {});
}

const isAsk = (page) => Boolean(page) && new URL(page, self.location.origin).pathname.startsWith("/asks/");

async function closeAll(fits) {
  for (const shown of await self.registration.getNotifications()) if (fits(shown)) shown.close();
}

// Browsers punish a push that shows nothing, so this is there for a moment: for all that end
// together, and no longer than it takes beside a page that somebody sees.
let leaving;
async function showEnd(end) {
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const seen = windows.some(({ visibilityState }) => visibilityState === "visible");
  await closeAll(({ tag }) => tag === end.tag);
  await show({ ...end, tag: ENDED });
  clearTimeout(leaving);
  leaving = setTimeout(closeAll, seen ? SHOWN_MS : LOOKED_MS, ({ tag }) => tag === ENDED);
}

function show({ title, body = "", tag = "", silent = false, actions = [], navigate: page, data = {} }) {
  return self.registration.showNotification(title, {
    body,
    tag,
    silent,
    actions: actions.map(({ action, title: words }) => ({ action, title: words })),
    renotify: Boolean(tag) && !silent,
    requireInteraction: isAsk(page) && !silent, // until it is answered
    icon: "/static/icon-192.png",
    data: { ...data, page, actions },
  });
}

self.addEventListener("notificationclick", (event) => {
  const { notification, action } = event;
  notification.close();
  event.waitUntil(action && notification.data?.key ? answer(notification, action) : openPage(notification));
});

async function openPage({ data }) {
  const wanted = new URL(data?.page ?? "/", self.location.origin);
  const page = wanted.origin === self.location.origin ? wanted.href : self.location.origin;
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const there = windows.find(({ url }) => url.split(/[?#]/)[0] === page);
  return there ? there.focus() : self.clients.openWindow(page);
}

async function answer({ title, body, tag, data }, action) {
  const { ask, step, key, page, actions } = data;
  let response;
  try {
    response = await fetch("/push/answer", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Chatbridge": "worker" },
      body: JSON.stringify({ ask, step, option: Number(action), key }),
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
  } catch {
    // It may have got through: then pressing again says so.
    return show({ title: LOST, body: `${title}: ${body}`, tag, actions, navigate: page, data });
  }
  if (response.ok) return undefined;
  const said = response.headers.get("X-Chatbridge-Toast");
  const why = said ? decodeURIComponent(said) : await problem(response);
  return show({ title: "Your answer was not taken", body: why, tag, navigate: page });
}

async function problem(response) {
  try {
    return (await response.json()).error;
  } catch {
    return `That did not work (${response.status}). Open the question to answer it.`;
  }
}

// ── the subscription ───────────────────────────────────────────────────────────────────────────

// The browser's push service has given up an address: another one takes its place.
self.addEventListener("pushsubscriptionchange", (event) => {
  event.waitUntil(renew(event.oldSubscription, event.newSubscription));
});

async function renew(old, given) {
  const { key } = await (await fetch("/push/key", { headers: { "X-Chatbridge": "worker" } })).json();
  const fresh = given ?? (await self.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key }));
  await fetch("/push/subscriptions", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Chatbridge": "worker" },
    body: JSON.stringify({ ...fresh.toJSON(), replaces: old?.endpoint }),
  });
}
