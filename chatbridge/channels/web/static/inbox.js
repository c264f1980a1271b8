// Makes the inbox live: sends taps without a reload, swaps in what changed, counts down, keeps what
// is typed. Every form also works without it. No polling: one event stream says what changed.

import { forgetMessage, keepMessage, problemOf, restoreMessages, showChosen, swapAgents } from "./agents.js";
import { announceTimeLeft, countDown, setClock, showLocalTimes } from "./clock.js";
import { fitsLimit, forgetSent, restoreDrafts, saveDraft } from "./drafts.js";
import { filterHistory } from "./history.js";
import { onKey } from "./keys.js";
import { knowNotices, swapNotices } from "./notices.js";
import { all, card, copy, find, parse, toast } from "./page.js";
import { hideBroken, openPicture, replaceKeepingPictures } from "./pictures.js";
import { showRecorder } from "./recorder.js";
import { awayMs, closeAllBut, closeNotification, noteHeard, ring, ringsHere, setBadge } from "./ring.js";
import { knowRows, linkNext, swapRows } from "./rows.js";
import { closeSheet, keepOpen, opensSheet, showAddress } from "./sheets.js";
import { holdsUp, setReply, showUploads } from "./uploads.js";

const FRAGMENT = { "X-Chatbridge": "fragment" };
const BANNER_AFTER_MS = 3000;
const REPLY_WITHIN_MS = 15000;
const FILES_WITHIN_MS = 600000;
const LONGEST_PAUSE_S = 30;
const STALE_AFTER_MS = 60000;
const SILENT_AFTER_MS = 40000; // the server says something at least every 15 s
const SETTLING_MS = 350;

// ── swapping in what changed ───────────────────────────────────────────────────────────────────

function countChosen(root) {
  const primary = find("[data-chosen]", root);
  if (!primary || primary.disabled) return;
  const chosen = all('[aria-checked="true"]', root).length + (find("#other", root)?.value.trim() ? 1 : 0);
  primary.textContent = primary.dataset.chosen + (chosen ? ` (${chosen} chosen)` : "");
}

function prepare(root) {
  showLocalTimes(root);
  countDown(root);
  hideBroken(root);
  if (root.matches("#card")) {
    showUploads(root);
    showRecorder(root);
    restoreDrafts(root);
    countChosen(root);
    linkNext(root);
    applyConnection(root);
  }
}

// Part by part, so that a live change never touches the field that someone is typing in.
function swapCard(html, { own = false } = {}) {
  const old = card();
  const fresh = find("#card", parse(html));
  if (!fresh || fresh.dataset.ask !== old.dataset.ask) return;
  if (Number(fresh.dataset.revision) < Number(old.dataset.revision)) return;
  setClock(fresh);
  const active = old.contains(document.activeElement) ? document.activeElement : null;
  const caret = active?.matches("textarea") ? [active.selectionStart, active.selectionEnd] : null;
  const moved = ["state", "view", "number"].some((name) => old.dataset[name] !== fresh.dataset[name]);
  const reopen = keepOpen(old, fresh);
  prepare(fresh);
  Object.assign(old.dataset, fresh.dataset);
  old.removeAttribute("aria-busy");
  [...fresh.children].forEach((part, i) => {
    if (!old.children[i].isEqualNode(part)) replaceKeepingPictures(old.children[i], part);
  });
  reopen();
  if (moved) letSettle(old);
  restoreFocus({ old, active, caret, moved, own });
}

// The second tap of a double tap must not answer the question that has just appeared under it.
function letSettle(element) {
  element.classList.add("settling");
  setTimeout(() => element.classList.remove("settling"), SETTLING_MS);
}

function restoreFocus({ old, active, caret, moved, own }) {
  const idle = active || document.activeElement === document.body;
  if (moved && old.dataset.view === "end") return idle && find("#outcome", old).focus();
  // A box that was ticked leads to another screen, and is still there.
  const ticked = own && active?.matches('[role="checkbox"]') && find(`#${active.id}`, old);
  if (moved && own && !ticked) {
    window.scrollTo(0, 0);
    const field = find("#answer", old);
    const typing = field && (old.dataset.view === "other" || matchMedia("(hover: hover)").matches);
    return (typing ? field : find("#question", old))?.focus({ preventScroll: true });
  }
  if (!active || active.isConnected) return;
  const again = [active.id, active.dataset.next].map((id) => id && find(`#${id}`, old)).find(Boolean);
  if (!again) return;
  again.focus({ preventScroll: true });
  if (caret) again.setSelectionRange(...caret);
}

// ── sending: one after another, and nothing twice ──────────────────────────────────────────────

let queue = Promise.resolve();
let waiting = 0;
let sending = false;

function onSubmit(event) {
  const form = event.target;
  if (form.matches("[data-dismiss]")) {
    event.preventDefault();
    return dismiss(form);
  }
  if (form.matches("[data-tells]")) {
    event.preventDefault();
    return tell(form, event.submitter);
  }
  if (!form.matches("[data-post]") || event.submitter?.formMethod === "dialog") return;
  event.preventDefault();
  if (sending || connection === "broken" || connection === "out") return;
  const fields = new URLSearchParams(new FormData(form));
  if (event.submitter?.name) fields.set(event.submitter.name, event.submitter.value);
  const name = fields.get("do");
  if (opensSheet(form)) return;
  if (holdsUp(name)) return toast("A file is still being sent. Wait for it, or cancel it.");
  if (fields.has("text") && !all("[data-limit]").every(fitsLimit)) return;
  if (name === "toggle") flip(form);
  else {
    sending = true;
    card().setAttribute("aria-busy", "true");
    event.submitter?.classList.add("sending");
  }
  if (name === "done" && takenBack(find("#other"))) {
    enqueue(form.action, new URLSearchParams({ do: "drop_other", step: fields.get("step") }));
  }
  enqueue(form.action, fields);
}

const takenBack = (field) => field.defaultValue && !field.value.trim();

function enqueue(action, fields) {
  waiting += 1;
  queue = queue.then(() => send(action, fields)).finally(settle);
}

function flip(form) {
  const on = form.elements.on.value === "1";
  find("button", form).setAttribute("aria-checked", String(on));
  form.elements.on.value = on ? "0" : "1";
  countChosen(card());
}

async function send(action, fields) {
  let response, html;
  try {
    const signal = AbortSignal.timeout(REPLY_WITHIN_MS);
    response = await fetch(action, { method: "POST", body: fields, headers: FRAGMENT, signal });
    html = await response.text();
  } catch {
    toast("Your computer is not responding. What you typed is kept.");
    showBroken();
    return disconnected();
  }
  const said = response.headers.get("X-Chatbridge-Toast");
  if (said) toast(decodeURIComponent(said));
  if (response.status === 401) return loggedOut();
  const fresh = find("#card", parse(html));
  if (!fresh) return toast(`That did not work (${response.status}). Nothing was sent.`);
  if (response.ok) forgetSent(fields, card(), { ended: fresh.dataset.view === "end" });
  if (response.ok) closeSheet();
  if (waiting === 1) swapCard(html, { own: true });
}

// A message to an agent, or one that is taken back.
let telling = false;
async function tell(form, button) {
  const problem = problemOf(form);
  if (problem) return toast(problem);
  if (telling || connection === "broken" || connection === "out") return;
  const fields = new FormData(form);
  const plain = form.enctype !== "multipart/form-data";
  telling = true;
  button?.classList.add("sending");
  try {
    const signal = AbortSignal.timeout(form.elements.files?.files.length ? FILES_WITHIN_MS : REPLY_WITHIN_MS);
    const body = plain ? new URLSearchParams(fields) : fields;
    const response = await fetch(form.action, { method: "POST", body, headers: FRAGMENT, signal });
    const html = await response.text();
    const said = response.headers.get("X-Chatbridge-Toast");
    if (said) toast(decodeURIComponent(said));
    if (response.status === 401) return loggedOut();
    if (response.ok) forgetMessage(form);
    else if (!said) toast(`That did not work (${response.status}). Nothing was sent.`);
    showAgents(html);
  } catch {
    toast("Your computer is not responding. What you typed is kept.");
    disconnected();
  } finally {
    telling = false;
    button?.classList.remove("sending");
  }
}

// What the hub says to a file.
setReply(({ status, html, said }) => {
  if (said) toast(said);
  if (status === 401) return loggedOut();
  const fresh = find("#card", parse(html));
  if (fresh && !waiting) swapCard(html, { own: fresh.dataset.view === "heard" });
});

function settle() {
  waiting -= 1;
  if (waiting) return;
  sending = false;
  card().removeAttribute("aria-busy");
  for (const element of all(".sending")) element.classList.remove("sending");
  if (newest > Number(card().dataset.revision)) refreshCard();
}

// ── the event stream ───────────────────────────────────────────────────────────────────────────

let connection = "new"; // new, live, reconnecting, broken, out (logged out)
let stream, retryTimer, bannerTimer, rowsTimer, silenceTimer;
let pause = 1;
let retryAt = 0;
let newest = 0;
let hiddenAt = 0;

async function get(address, options = {}) {
  const signal = AbortSignal.timeout(REPLY_WITHIN_MS);
  const response = await fetch(address, { headers: FRAGMENT, signal, ...options });
  if (response.status === 401) loggedOut();
  return response.ok ? response.text() : "";
}

const rowsAddress = () => (document.body.dataset.page === "list" ? `/rows${location.search}` : "/rows");
const refreshRows = () => get(rowsAddress()).then((html) => swapRows(html, prepare)).then(countOpen).catch(disconnected);
function countOpen(rows) {
  if (!rows) return;
  setBadge(rows.count);
  if (rows.asks.length === rows.count) closeAllBut(rows.asks);
}
const refreshNotices = () => get("/notices").then(showNotices).catch(disconnected);
const dismiss = (form) => get(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) })
  .then(showNotices).catch(disconnected);
function showNotices(html) {
  const fresh = find("#notices", parse(html));
  if (!fresh) return;
  showLocalTimes(fresh);
  hideBroken(fresh);
  swapNotices(fresh);
}
let agentsAsked = 0; // an older reply must not undo a newer one
const showAgents = (html) => {
  agentsAsked += 1;
  swapAgents(html, prepare);
};
const refreshAgents = () => {
  if (!find("#agents")) return;
  const mine = ++agentsAsked;
  get("/agents").then((html) => mine === agentsAsked && showAgents(html)).catch(disconnected);
};
const refreshCard = () => get(`/asks/${card().dataset.ask}/card`)
  .then((html) => waiting || swapCard(html)).catch(disconnected);

function connect() {
  stream?.close();
  const away = connection !== "new" && ringsHere() ? `&away=${awayMs()}` : "";
  stream = new EventSource(`/api/events?alive&brief${away}`);
  for (const sign of ["open", "ask", "notice", "agents", "alive"]) stream.addEventListener(sign, heard);
  stream.addEventListener("open", () => {
    pause = 1;
    setConnection("live");
    refreshRows();
    refreshNotices();
    refreshAgents();
    if (card()) refreshCard();
  });
  stream.addEventListener("error", disconnected);
  stream.addEventListener("ask", (event) => changed(JSON.parse(event.data)));
  stream.addEventListener("agents", refreshSoon);
  for (const change of ["notice", "dismissal"]) stream.addEventListener(change, refreshNotices);
}

// A connection can die without a word: a phone that changed its network, a laptop that slept.
function heard() {
  clearTimeout(silenceTimer);
  silenceTimer = setTimeout(disconnected, SILENT_AFTER_MS);
  noteHeard();
}

function refreshSoon() {
  clearTimeout(rowsTimer);
  rowsTimer = setTimeout(() => { refreshRows(); refreshAgents(); }, 50);
}

function changed(ask) {
  refreshSoon();
  if (ask.rings) ring(ask.id, ask.rings);
  if (!ask.open) closeNotification(ask.id);
  if (ask.id !== card()?.dataset.ask) return;
  newest = Math.max(newest, ask.revision);
  if (!waiting && newest > Number(card().dataset.revision)) refreshCard();
}

function disconnected() {
  if (connection === "out") return;
  stream?.close();
  clearTimeout(retryTimer);
  clearTimeout(silenceTimer);
  if (connection !== "broken") setConnection("reconnecting");
  bannerTimer ??= setTimeout(showBroken, BANNER_AFTER_MS);
  retryAt = Date.now() + pause * 1000;
  retryTimer = setTimeout(retry, pause * 1000);
  pause = Math.min(pause * 2, LONGEST_PAUSE_S);
}

// Asks for the rows first: unlike an event stream, that says when we are logged out.
function retry() {
  clearTimeout(retryTimer);
  retryAt = 0;
  showPause();
  get(rowsAddress()).then((html) => (html ? connect() : disconnected())).catch(disconnected);
}

const showBroken = () => setConnection("broken");
function loggedOut() {
  stream?.close();
  clearTimeout(retryTimer);
  setConnection("out");
}

function setConnection(state) {
  if (connection === "out") return;
  connection = state;
  document.body.dataset.connection = state;
  if (state !== "reconnecting") { clearTimeout(bannerTimer); bannerTimer = state === "live" ? undefined : 0; }
  const words = { live: "Live", reconnecting: "Reconnecting…", broken: "Offline", out: "Logged out" };
  const status = find("#live");
  status.hidden = false;
  status.textContent = words[state];
  status.classList.toggle("off", state !== "live");
  find("#banner").hidden = !["broken", "out"].includes(state);
  const over = document.body.dataset.over;
  find("#banner-title").textContent = state === "out" ? "You are logged out." : over ?? "No connection to your computer";
  find("#try-now").hidden = state === "out" || Boolean(over);
  showPause();
  if (card()) applyConnection(card());
  for (const button of all("[data-tells] button")) button.disabled = ["broken", "out"].includes(state);
}

function showPause() {
  const seconds = Math.ceil((retryAt - Date.now()) / 1000);
  const next = seconds > 0 ? `Trying again in ${seconds} s.` : "Trying now.";
  let text = `${next} What you type is kept on this page.`;
  if (document.body.dataset.over) text = "Next, on your computer: chatbridge setup";
  else if (connection === "out") text = "Run chatbridge inbox on your computer.";
  if (find("#banner-text").textContent !== text) find("#banner-text").textContent = text;
}

// Disabled, never queued: an answer sent later than the person thinks is worse than one more tap.
function applyConnection(root) {
  const cut = connection === "broken" || connection === "out";
  for (const button of all("form[data-post] button:not([formmethod]), button[form]", root)) button.disabled = cut;
  const primary = find(".primary[form]", root);
  if (!primary) return;
  if (cut) {
    primary.dataset.label ??= primary.textContent;
    primary.textContent = connection === "out" ? "Logged out" : "Waiting for connection…";
  } else if (primary.dataset.label) {
    primary.textContent = primary.dataset.label;
    delete primary.dataset.label;
    countChosen(root);
  }
}

// ── start ──────────────────────────────────────────────────────────────────────────────────────

const filter = (field) => filterHistory(field, (address) => get(address).catch(disconnected));

let ticking;
function tick() {
  countDown(document);
  announceTimeLeft();
  if (connection === "broken") showPause();
}

function onVisibility() {
  clearInterval(ticking);
  if (document.hidden) { hiddenAt = Date.now(); return; }
  tick();
  ticking = setInterval(tick, 1000);
  const stale = hiddenAt && Date.now() - hiddenAt > STALE_AFTER_MS;
  if (connection !== "live" ? connection !== "new" : stale) retry();
}

document.addEventListener("submit", onSubmit);
document.addEventListener("keydown", onKey);
document.addEventListener("input", ({ target }) => {
  if (target.matches("[data-filters]")) filter(target);
  if (target.matches(".agent textarea")) keepMessage(target);
  if (!target.matches("[data-draft]")) return;
  saveDraft(target);
  if (target.dataset.limit) fitsLimit(target);
  countChosen(card());
});
document.addEventListener("change", ({ target }) => target.closest(".attacher") && showChosen(target.form));
document.addEventListener("click", (event) => {
  const { target } = event;
  const other = target.closest(".other > summary")?.parentElement;
  if (other) {
    event.preventDefault();
    other.open = !other.open;
    if (other.open) find("textarea", other).focus();
  }
  if (target.closest("#try-now")) retry();
  const copier = target.closest("[data-copies]");
  if (copier) copy(copier);
  const address = target.closest("a.address");
  if (address) {
    event.preventDefault();
    showAddress(address);
  }
  if (target.closest("#address-open")) find("#address").close();
  const picture = target.closest("[data-picture]");
  if (picture) {
    event.preventDefault();
    openPicture(picture);
  }
  const opener = target.closest("[data-opens]");
  if (opener) find(`#${opener.dataset.opens}`).showModal();
});
document.addEventListener("visibilitychange", onVisibility);
window.addEventListener("offline", disconnected);
window.addEventListener("online", retry);
window.addEventListener("pagehide", () => stream?.close());
window.addEventListener("pageshow", (event) => event.persisted && retry());

document.body.dataset.script = "";
setClock(document.body);
knowRows();
knowNotices();
showLocalTimes(document);
if (card()) prepare(card());
restoreMessages(document);
// What was typed before the script was there.
all("[data-filters]").filter((field) => field.value !== field.defaultValue).forEach(filter);
connect();
onVisibility();
