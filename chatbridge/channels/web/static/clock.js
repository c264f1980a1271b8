// Times: the countdown on the server's clock, times of day in the reader's zone.

import { all, announce, card, find } from "./page.js";

let skew = 0;
const serverNow = () => Date.now() / 1000 + skew;

export function setClock(element) {
  if (element.dataset.now) skew = Number(element.dataset.now) - Date.now() / 1000;
}

function timeLeft(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const minutes = Math.floor(whole / 60);
  if (minutes < 10) return `${minutes}:${String(whole % 60).padStart(2, "0")} left`;
  if (minutes < 60) return `${minutes} min left`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min left`;
}

export function countDown(root) {
  for (const element of all("[data-deadline]", root)) {
    const left = Number(element.dataset.deadline) - serverNow();
    const text = timeLeft(left);
    if (element.textContent !== text) element.textContent = text;
    element.classList.toggle("soon", serverNow() >= Number(element.dataset.soon));
    const track = element.nextElementSibling;
    if (track?.matches("progress")) track.setAttribute("value", Math.max(0, Math.round(left)));
  }
}

let lastMark;
export function announceTimeLeft() {
  const shown = card() && find("[data-deadline]", card());
  const left = shown ? Number(shown.dataset.deadline) - serverNow() : Infinity;
  const mark = left <= 30 ? 30 : left <= 120 ? 120 : Infinity;
  if (mark < lastMark) announce(mark === 30 ? "30 seconds left" : "2 minutes left");
  lastMark = mark;
}

export function showLocalTimes(root) {
  for (const element of all("time[datetime]", root)) {
    const at = new Date(element.dateTime);
    const today = at.toDateString() === new Date().toDateString();
    // The history groups by day, so that its rows need no weekday.
    const weekday = today || element.closest(".row") ? {} : { weekday: "short" };
    const text = at.toLocaleString([], { ...weekday, hour: "numeric", minute: "2-digit" });
    // Many languages put a zero before the hour that follows a weekday.
    element.textContent = text.replace(/\b0(?=\d\D{1,3}\d\d)/, "");
  }
}
