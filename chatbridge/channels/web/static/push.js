// The page "Notifications": turns them on and off in this browser, or says why that cannot be.

import { all, find, toast } from "./page.js";
import { chime, registration, ringsHere, setRings, subscription } from "./ring.js";

const here = find("#push");
const MARK = { "X-Chatbridge": "push" };
const UNREACHED = "Your computer is not responding. Try again.";

// Safari on iPhones and iPads has push only in what was added to the home screen.
const isApple = /iPhone|iPad|iPod/.test(navigator.userAgent) || (navigator.platform === "MacIntel" && navigator.maxTouchPoints > 1);
const isApp = navigator.standalone || matchMedia("(display-mode: standalone)").matches;

async function state() {
  if (!window.isSecureContext) return "insecure";
  if (isApple && !isApp) return "home";
  if (!window.PushManager || !window.Notification || !navigator.serviceWorker) return "unable";
  if (Notification.permission === "denied") return "denied";
  const subscribed = await subscription();
  if (here.dataset.on !== undefined && subscribed) return "on";
  // The hub does not know it: somebody has removed it, or logged out.
  if (subscribed) await subscribed.unsubscribe();
  return "off";
}

async function show() {
  const now = await state();
  for (const part of all("[data-state]", here)) part.hidden = !part.dataset.state.split(" ").includes(now);
  const rings = ringsHere();
  find("#ring").setAttribute("aria-checked", String(rings));
}

async function turnOn() {
  if ((await Notification.requestPermission()) !== "granted") return show();
  let fresh;
  try {
    await navigator.serviceWorker.ready;
    const options = { userVisibleOnly: true, applicationServerKey: here.dataset.vapid };
    fresh = await (await registration()).pushManager.subscribe(options);
  } catch {
    return toast("Your browser did not get an address for notifications. Check its connection, and try again.");
  }
  const response = await post("/push/subscriptions", JSON.stringify(fresh.toJSON()), { "Content-Type": "application/json" });
  if (response?.ok) return location.reload();
  await fresh.unsubscribe();
  return toast(response ? await problem(response) : UNREACHED);
}

async function turnOff() {
  const response = await post(`/push/subscriptions/${here.dataset.on}/remove`, new URLSearchParams());
  if (!response?.ok) return toast(response ? await problem(response) : UNREACHED);
  await (await subscription())?.unsubscribe();
  return location.reload();
}

const post = (address, body, headers = {}) =>
  fetch(address, { method: "POST", body, headers: { ...MARK, ...headers } }).catch(() => null);

async function problem(response) {
  const said = response.headers.get("X-Chatbridge-Toast");
  if (said) return decodeURIComponent(said);
  const found = await response.json().catch(() => ({}));
  return found.error ?? `That did not work (${response.status}).`;
}

async function switchRings() {
  setRings(!ringsHere());
  show();
  if (!ringsHere()) return;
  chime();
  if (window.isSecureContext && window.Notification?.permission === "default") await Notification.requestPermission();
}

async function test(form) {
  const response = await post(form.action, new URLSearchParams());
  toast(response?.ok ? "Sent. It should ring in a few seconds." : response ? await problem(response) : UNREACHED);
}

find("#push-on").addEventListener("click", turnOn);
find("#push-off").addEventListener("click", turnOff);
find("#ring").addEventListener("click", switchRings);
document.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-test]")) return;
  event.preventDefault();
  test(event.target);
});
show();
