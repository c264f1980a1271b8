// A voice message, recorded on the page.

import { announce, card, find, toast } from "./page.js";
import { addFiles, button, element } from "./uploads.js";

const LONGEST_S = 300;
const TYPES = { "audio/webm;codecs=opus": "webm", "audio/mp4": "m4a", "audio/ogg;codecs=opus": "ogg" };
const PROBLEMS = {
  NotAllowedError: "The microphone was refused. Allow it for this page in your browser's settings.",
  NotFoundError: "No microphone was found.",
  NotReadableError: "The microphone is in use by another program.",
};
const INSECURE = "Browsers record only over https, or on your computer itself. Attach a recording instead.";

let recording = null; // { recorder, began, timer }

async function start() {
  if (recording) return;
  if (!navigator.mediaDevices || !window.MediaRecorder) {
    return toast(window.isSecureContext ? "This browser cannot record. Attach a recording instead." : INSECURE);
  }
  const mine = recording = { ask: card().dataset.ask, number: card().dataset.number };
  try {
    const sound = await navigator.mediaDevices.getUserMedia({ audio: true });
    if (recording !== mine) return sound.getTracks().forEach((track) => track.stop());
    const type = Object.keys(TYPES).find((each) => MediaRecorder.isTypeSupported(each));
    record(sound, type);
  } catch (error) {
    recording = null;
    toast(PROBLEMS[error.name] ?? "The microphone does not work. Attach a recording instead.");
  }
}

function record(sound, type) {
  const recorder = new MediaRecorder(sound, type ? { mimeType: type } : {});
  const parts = [];
  const mine = recording;
  recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
  recorder.addEventListener("stop", () => {
    sound.getTracks().forEach((track) => track.stop());
    if (mine.cancelled) return;
    const kind = recorder.mimeType || type || "audio/webm";
    addFiles([new File(parts, `recording.${TYPES[type] ?? "webm"}`, { type: kind })], { voice: true });
  });
  Object.assign(mine, { recorder, began: Date.now(), timer: setInterval(tick, 500) });
  recorder.start(1000);
  announce("Recording");
  showRecorder(card());
  find("#record-stop")?.focus();
}

function finish({ cancelled }) {
  if (!recording) return;
  const { recorder, timer } = recording;
  clearInterval(timer);
  recording.cancelled = cancelled;
  recording = null;
  if (recorder && recorder.state !== "inactive") recorder.stop();
  if (card()) showRecorder(card());
  announce(cancelled ? "The recording was discarded" : "Recorded");
}

const elapsed = () => Math.min(LONGEST_S, Math.floor((Date.now() - recording.began) / 1000));
const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;

function tick() {
  const time = find("#record-time");
  if (time) time.textContent = clock(elapsed());
  if (elapsed() >= LONGEST_S) finish({ cancelled: false });
}

export function showRecorder(root) {
  const place = find("#recorder", root);
  const elsewhere = recording && (recording.number !== root.dataset.number || recording.ask !== root.dataset.ask);
  if (recording && (!place || elsewhere)) return finish({ cancelled: true });
  if (!place) return;
  const on = Boolean(recording?.recorder);
  place.hidden = !on;
  find(".tools", root).hidden = on;
  if (!on) return place.replaceChildren();
  const time = element("span", "record-time", clock(elapsed()));
  time.id = "record-time";
  const stop = button("Stop", () => finish({ cancelled: false }));
  stop.id = "record-stop";
  const dot = element("span", "dot");
  dot.setAttribute("aria-hidden", "true");
  const most = element("span", "most", `of ${clock(LONGEST_S)}`);
  place.replaceChildren(dot, time, most, stop, button("Cancel", () => finish({ cancelled: true })));
}

document.addEventListener("click", ({ target }) => { if (target.closest("#record")) start(); });
