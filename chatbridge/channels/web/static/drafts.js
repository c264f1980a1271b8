// What is typed stays on this page, over swaps, reloads and lost connections, until it is sent.

import { all, card, find } from "./page.js";

// By question and field, not by the form's step: going back and forth, or a late answer, keeps it.
const keysStart = (root) => `draft/${root.dataset.ask}/`;
const key = (id, root) => `${keysStart(root)}${root.dataset.number}/${id}`;
const keysOf = (root) => Object.keys(sessionStorage).filter((k) => k.startsWith(keysStart(root)));

export function saveDraft(field) {
  if (field.value === field.defaultValue) sessionStorage.removeItem(key(field.id, card()));
  else sessionStorage.setItem(key(field.id, card()), field.value);
}

export function restoreDrafts(root) {
  for (const field of all("[data-draft]", root)) {
    const draft = sessionStorage.getItem(key(field.id, root));
    if (draft === null) continue;
    field.value = draft;
    if (draft && field.closest("details")) field.closest("details").open = true;
  }
  const unsent = find("#unsent", root);
  if (!unsent) return;
  const texts = keysOf(root).map((k) => sessionStorage.getItem(k)).filter((text) => text.trim());
  unsent.hidden = texts.length === 0;
  find("#unsent-text", unsent).value = texts.join("\n\n");
}

export function forgetSent(fields, root, { ended }) {
  const sent = fields.has("reason") ? ["reason"] : fields.has("text") ? ["answer", "other", "wanted"] : [];
  if (root.dataset.view === "heard") sent.push("heard"); // sent or discarded
  const gone = ended ? keysOf(root) : sent.map((id) => key(id, root));
  for (const k of gone) sessionStorage.removeItem(k);
}

export function fitsLimit(field) {
  const limit = Number(field.dataset.limit);
  const length = [...field.value].length;
  const words = `This answer is too long (${length.toLocaleString("en")} of ${limit.toLocaleString("en")}).`;
  if (length > limit) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
  find("#too-long").textContent = length > limit ? words : "";
  return length <= limit;
}
