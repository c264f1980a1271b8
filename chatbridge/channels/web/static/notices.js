// Notices: what agents tell without asking. They come in by themselves and ask for nothing.

import { all, announce, find, toast } from "./page.js";
import { replaceKeepingPictures } from "./pictures.js";

const shown = (root) => all("[data-notice]", root);
let known = null;

// `fresh` is the list as it is now, with its times already in the reader's zone.
export function swapNotices(fresh) {
  const old = find("#notices");
  const news = known ? shown(fresh).filter((each) => !known.has(each.dataset.notice)) : [];
  known = new Set(shown(fresh).map((each) => each.dataset.notice));
  if (old && !old.isEqualNode(fresh)) {
    const at = all("button", old).indexOf(document.activeElement);
    replaceKeepingPictures(old, fresh);
    // The next one has the place of what was dismissed.
    if (at >= 0) (all("button", fresh)[at] ?? all("button", fresh).at(-1))?.focus();
  }
  if (!news.length) return;
  const text = news.map((each) => `Notice from ${each.dataset.project}`).join(". ");
  // Where the list is out of sight, on a phone with a question open, a line says so.
  if (find("#notices")?.checkVisibility()) announce(text);
  else toast(text);
}

export function knowNotices() {
  if (find("#notices")) known = new Set(shown(document).map((each) => each.dataset.notice));
}
