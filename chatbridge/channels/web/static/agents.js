// The page of the agents: what changes is swapped in part by part, and what is typed stays until it
// is sent, over reloads, and when its agent has gone.

import { all, find, parse } from "./page.js";

const draftKey = (field) => `draft/${field.id}`;
const fieldOf = (agent) => find("textarea", agent);
const filesOf = (form) => [...(form.elements.files?.files ?? [])];
const isUsed = (agent) => fieldOf(agent).value.trim() || filesOf(find("form", agent)).length
  || agent.contains(document.activeElement);

export function keepMessage(field) {
  if (field.value) sessionStorage.setItem(draftKey(field), field.value);
  else sessionStorage.removeItem(draftKey(field));
}

export function restoreMessages(root) {
  for (const field of all(".agent textarea", root)) field.value ||= sessionStorage.getItem(draftKey(field)) ?? "";
}

export function forgetMessage(form) {
  form.reset();
  const field = find("textarea", form);
  if (!field) return;
  field.value = "";
  keepMessage(field);
  showChosen(form);
}

export function showChosen(form) {
  find(".chosen", form).textContent = filesOf(form).map((file) => file.name).join(", ");
}

// Why this form cannot be sent; nothing if it can.
export function problemOf(form) {
  const size = filesOf(form).reduce((sum, file) => sum + file.size, 0);
  return size > Number(form.dataset.largest) ? form.dataset.tooLarge : "";
}

// `prepare` makes what is new ready to be shown.
export function swapAgents(html, prepare) {
  const old = find("#agents");
  const fresh = find("#agents", parse(html));
  if (!old || !fresh) return;
  prepare(fresh);
  const focused = document.activeElement?.id;
  swapParts(old, fresh, ["head", "last"]);
  const place = find("[data-part=there]", old);
  for (const agent of all(".agent", old)) {
    const now = find(`#${agent.id}`, fresh);
    if (now) swapParts(agent, now, ["facts", "waiting"]);
    else if (isUsed(agent)) markGone(agent);
    else agent.remove();
  }
  for (const agent of all(".agent", fresh)) {
    if (find(`#${agent.id}`, old)) continue;
    place.append(agent);
    restoreMessages(agent);
  }
  if (focused && document.activeElement === document.body) find(`#${focused}`)?.focus({ preventScroll: true });
}

// What waits for it is listed below the agents by now.
function markGone(agent) {
  const [said, ...rest] = all("[data-part=facts] .remark", agent);
  said.textContent = "No longer connected. What you typed is still here.";
  for (const each of rest) each.remove();
  find("[data-part=waiting]", agent).replaceChildren();
}

function swapParts(old, fresh, names) {
  for (const name of names) {
    const [was, now] = [old, fresh].map((root) => find(`[data-part=${name}]`, root));
    if (!was.isEqualNode(now)) was.replaceWith(now);
  }
}
