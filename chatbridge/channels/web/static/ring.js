// Rings while a page is open, if this browser was told to, and closes notifications of questions
// that have ended. Push notifications come without it, whether a page is open or not.

const RINGS = "rings";
const READY_WITHIN_MS = 3000; // what does not sound by then never does
const ONE_RING_MS = 1000;
const CHIME = [[880, 0], [1175, 0.16]]; // hertz, seconds

export const ringsHere = () => localStorage.getItem(RINGS) !== null;
export function setRings(on) {
  if (on) localStorage.setItem(RINGS, "");
  else localStorage.removeItem(RINGS);
}

// Tabs share it: what one of them was told rings in no other.
const HEARD = "heard";
export const noteHeard = () => localStorage.setItem(HEARD, Date.now());
export const awayMs = () => Date.now() - localStorage.getItem(HEARD);

// There is none without a secure context.
export const registration = async () => navigator.serviceWorker?.getRegistration();
export const subscription = async () => (await registration())?.pushManager?.getSubscription();

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

let audio;
let turn = Promise.resolve();

// With the sound on, which browsers allow once somebody has touched the page. One after another:
// each turns it off again.
function sounding(work) {
  turn = turn.then(async () => {
    audio ??= new AudioContext();
    await Promise.race([audio.resume(), pause(READY_WITHIN_MS)]);
    if (audio.state === "running") await work();
    await audio.suspend();
  });
  return turn;
}

async function play() {
  const volume = new GainNode(audio, { gain: 0.15 });
  volume.connect(audio.destination);
  const notes = CHIME.map(([frequency, after]) => {
    const note = new OscillatorNode(audio, { frequency });
    note.connect(volume);
    note.start(audio.currentTime + after);
    note.stop(audio.currentTime + after + 0.14);
    return note;
  });
  await new Promise((resolve) => { notes.at(-1).onended = resolve; });
}

export const chime = () => sounding(play);

const ended = new Set();

async function notify(id, { title, body }) {
  if (window.Notification?.permission !== "granted" || (await subscription())) return;
  if (ended.has(id)) return; // meanwhile
  await tellWorker({ notification: { title, body, tag: id, navigate: `/asks/${id}` } });
}

// Several tabs hear of a question within a moment: one of them does it for all.
function once(name, work) {
  const alone = (lock) => lock && Promise.all([work(), pause(ONE_RING_MS)]);
  return navigator.locks ? navigator.locks.request(name, { ifAvailable: true }, alone) : work();
}

export function ring(id, said) {
  if (!ringsHere()) return;
  once("notify", () => notify(id, said));
  // A tab that nobody has touched must not keep one silent that may sound.
  if (navigator.userActivation?.hasBeenActive ?? true) once("chime", chime);
}

async function tellWorker(message) {
  (await registration())?.active?.postMessage(message);
}

export function closeNotification(id) {
  ended.add(id);
  return tellWorker({ close: id });
}
export const closeAllBut = (open) => tellWorker({ open });

export async function setBadge(count) {
  if (ringsHere() || (await subscription())) await navigator.setAppBadge?.(count).catch(() => {});
}

// Some browsers allow it only if it was on once by a touch.
document.addEventListener("click", () => ringsHere() && sounding(() => {}), { once: true });

navigator.serviceWorker?.register("/sw.js").catch(() => {}); // blocked: everything else works
