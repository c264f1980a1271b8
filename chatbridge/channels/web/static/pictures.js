// Pictures: large on a tap, and kept over swaps. One that cannot be shown becomes a file to download.

import { all, announce, find } from "./page.js";

const SWIPE_PX = 40;

// ── over swaps ─────────────────────────────────────────────────────────────────────────────────

const broken = new Set();
const address = (image) => image.getAttribute("src");

// Pictures that are on the page stay the same elements: none flickers, and none is loaded again.
export function replaceKeepingPictures(old, fresh) {
  const kept = new Map(all("img", old).map((image) => [address(image), image]));
  old.replaceWith(fresh);
  for (const image of all("img", fresh)) {
    const same = kept.get(address(image));
    if (same) image.replaceWith(same);
    kept.delete(address(image));
  }
}

export function hideBroken(root) {
  for (const image of all(".thumb img", root)) if (broken.has(address(image))) showAsFile(image);
}

function showAsFile(image) {
  const figure = image.closest(".picture");
  find(".thumb", figure).hidden = true;
  find(".file", figure).hidden = false;
}

function giveUp(image) {
  broken.add(address(image));
  showAsFile(image);
}

// An image's own error does not bubble, and may have been before this script.
document.addEventListener("error", ({ target }) => target.matches?.(".thumb img") && giveUp(target), true);
all(".thumb img").filter((image) => image.complete && !image.naturalWidth).forEach(giveUp);

// ── large ──────────────────────────────────────────────────────────────────────────────────────

let shown = [];
let at = 0;

const box = () => find("#lightbox");

export function openPicture(link) {
  const group = link.closest(".notice, #card");
  shown = all("[data-picture]", group).filter((each) => !each.hidden);
  show(shown.indexOf(link));
  box().showModal();
  find("#lightbox-close").focus();
}

function show(index) {
  at = (index + shown.length) % shown.length;
  const link = shown[at];
  const small = find("img", link);
  const large = new Image(small.getAttribute("width"), small.getAttribute("height"));
  large.alt = small.alt;
  large.src = address(small);
  find("#lightbox-stage").replaceChildren(large);
  find("#lightbox-caption").textContent = link.dataset.picture;
  find("#lightbox-original").href = link.href;
  find("#lightbox-place").textContent = shown.length > 1 ? `${at + 1} of ${shown.length}` : "";
  for (const id of ["previous", "next"]) find(`#lightbox-${id}`).hidden = shown.length < 2;
}

function move(by) {
  if (shown.length < 2) return;
  show(at + by);
  announce(`Picture ${at + 1} of ${shown.length}`);
}

function onKey(event) {
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  event.preventDefault();
  move(event.key === "ArrowRight" ? 1 : -1);
}

let start = null;
function onSwipeEnd({ changedTouches: [touch] }) {
  if (!start) return;
  const [x, y] = [touch.clientX - start.clientX, touch.clientY - start.clientY];
  start = null;
  if (Math.abs(x) > SWIPE_PX && Math.abs(x) > Math.abs(y)) move(x < 0 ? 1 : -1);
}

if (box()) {
  box().addEventListener("keydown", onKey);
  box().addEventListener("click", ({ target }) => target.id === "lightbox-stage" && box().close());
  find("#lightbox-previous").addEventListener("click", () => move(-1));
  find("#lightbox-next").addEventListener("click", () => move(1));
  const stage = find("#lightbox-stage");
  // With two fingers it is a zoom.
  stage.addEventListener("touchstart", ({ touches }) => { start = touches.length === 1 ? touches[0] : null; }, { passive: true });
  stage.addEventListener("touchend", onSwipeEnd);
}
