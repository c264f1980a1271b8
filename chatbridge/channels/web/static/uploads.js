// Files that go with an answer: picked, photographed, pasted, dropped or recorded. They are sent one
// after another. What fails stays listed with the reason, and can be tried again.

import { all, announce, card, find } from "./page.js";

const SILENT_AFTER_MS = 30000;
const NO_CONNECTION = "Your computer is not responding. The file is kept on this page.";
const ANSWERING = ["choose", "text", "done", "skip", "submit", "send_attached"];

const uploads = []; // { ask, question, file, voice, state: waiting | sending | failed, problem, share }
let answered; // what to do with the hub's reply

export const setReply = (reply) => { answered = reply; };
const mine = (root) => uploads.filter((each) => each.ask === root.dataset.ask);
const box = () => card() && find("#attach", card());

// Whether this tap would answer without a file that is still on its way.
export function holdsUp(name) {
  return ANSWERING.includes(name) && mine(card()).some((each) => each.state !== "failed");
}

export function addFiles(files, { voice = false } = {}) {
  if (!box()) return;
  const left = Number(box().dataset.most) - Number(box().dataset.taken);
  for (const file of files) {
    const problem = file.size > left ? box().dataset.tooLarge : "";
    const { ask, number } = card().dataset;
    uploads.push({ ask, question: Number(number) - 1, file, voice, problem, state: problem ? "failed" : "waiting", share: 0 });
    if (problem) announce(problem);
  }
  showUploads(card());
  sendNext();
}

function sendNext() {
  if (uploads.some((each) => each.state === "sending")) return;
  const next = uploads.find((each) => each.state === "waiting");
  if (next) send(next);
}

// Not fetch, which says nothing of how much has been sent.
function send(upload) {
  const request = new XMLHttpRequest();
  let timer;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => request.abort(), SILENT_AFTER_MS);
  };
  upload.request = request;
  upload.state = "sending";
  request.open("POST", `/asks/${upload.ask}/files?question=${upload.question}${upload.voice ? "&voice=1" : ""}`);
  request.setRequestHeader("X-Chatbridge", "fragment");
  request.setRequestHeader("X-File-Name", encodeURIComponent(upload.file.name));
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    alive();
    upload.share = total ? loaded / total : 0;
    showProgress(upload);
  });
  request.addEventListener("loadend", () => {
    clearTimeout(timer);
    end(upload, request);
  });
  alive();
  request.send(upload.file);
  showUploads(card());
}

function end(upload, request) {
  const said = decodeURIComponent(request.getResponseHeader("X-Chatbridge-Toast") ?? "");
  if (request.status === 200) remove(upload);
  else if (uploads.includes(upload)) {
    upload.state = "failed";
    upload.problem = request.status ? said || `That did not work (${request.status}).` : NO_CONNECTION;
    announce(upload.problem);
  }
  if (request.status) {
    answered({ status: request.status, html: request.responseText, said: request.status === 200 ? said : "" });
    if (request.status === 200 && !upload.voice) announce(`${upload.file.name} is attached`);
  }
  showUploads(card());
  sendNext();
}

function remove(upload) {
  const place = uploads.indexOf(upload);
  if (place >= 0) uploads.splice(place, 1);
}

// ── the list ───────────────────────────────────────────────────────────────────────────────────

export function showUploads(root) {
  const list = find("#uploads", root);
  const rows = mine(root).map(row);
  if (list) list.replaceChildren(...rows);
}

function row(upload) {
  const item = element("li", "upload");
  const failed = upload.state === "failed";
  item.append(element("bdi", "file-name", upload.file.name));
  if (failed) item.append(element("span", "problem", upload.problem));
  else {
    const bar = element("progress", "");
    bar.max = 100;
    bar.value = percent(upload);
    bar.setAttribute("aria-label", `Sending ${upload.file.name}`);
    item.append(bar, element("span", "share", `${percent(upload)} %`));
  }
  if (failed && upload.file.size <= Number(box()?.dataset.most)) {
    item.append(button("Try again", () => {
      Object.assign(upload, { state: "waiting", problem: "", share: 0, question: Number(card().dataset.number) - 1 });
      showUploads(card());
      sendNext();
    }));
  }
  item.append(button(failed ? "Remove" : "Cancel", () => {
    remove(upload);
    upload.request?.abort();
    showUploads(card());
  }));
  return item;
}

const percent = (upload) => Math.round(upload.share * 100);

function showProgress(upload) {
  const item = all("#uploads > li")[mine(card()).indexOf(upload)];
  const bar = item && find("progress", item);
  if (!bar) return;
  bar.value = percent(upload);
  find(".share", item).textContent = `${percent(upload)} %`;
}

export function element(name, className, text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.textContent = text;
  return made;
}

export function button(label, press) {
  const made = element("button", "button quiet", label);
  made.type = "button";
  made.addEventListener("click", press);
  return made;
}

// ── where files come from ──────────────────────────────────────────────────────────────────────

document.addEventListener("change", ({ target }) => {
  if (!target.matches("#attach input[type=file]")) return;
  addFiles([...target.files]);
  target.value = "";
});
document.addEventListener("paste", (event) => {
  const files = [...(event.clipboardData?.files ?? [])];
  // A table's cells come as a text and as a picture of it: in a field the text is meant.
  const asText = event.target.matches("textarea, input") && event.clipboardData.types.includes("text/plain");
  if (!files.length || asText || !box() || find("dialog[open]")) return;
  event.preventDefault();
  addFiles(files);
});

const hasFiles = (event) => event.dataTransfer?.types.includes("Files") && card();
const mark = (on) => card().classList.toggle("dropping", Boolean(on && box()));
document.addEventListener("dragover", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault(); // else the browser would leave the page for the file
  event.dataTransfer.dropEffect = box() ? "copy" : "none";
  mark(true);
});
document.addEventListener("dragleave", (event) => card() && !event.relatedTarget && mark(false));
document.addEventListener("drop", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  mark(false);
  addFiles([...event.dataTransfer.files]);
});
window.addEventListener("beforeunload", (event) => {
  if (uploads.some((each) => each.state === "sending")) event.preventDefault();
});
