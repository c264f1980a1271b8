// Keys. A control says in `data-key` which key presses it; none while a field has the focus.

import { all, find } from "./page.js";

const visible = (element) => element.checkVisibility();

export function onKey(event) {
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
    const form = event.target.closest("form[data-tells]");
    if (form) return form.requestSubmit(find("button", form));
    return find(find("dialog[open]") ? "dialog[open] [data-primary]" : "#primary")?.click();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.closest("input, textarea, select, [contenteditable]") || find("dialog[open]")) return;
  const key = event.key.toLowerCase();
  if (key === "j" || key === "k") return moveRow(key === "j" ? 1 : -1);
  const target = all("[data-key]").find((each) => each.dataset.key === key && !each.hidden);
  if (!target) return;
  event.preventDefault();
  // Something that should not happen by one key takes Enter, too.
  if (target.dataset.aims === undefined) target.click();
  else target.focus();
}

function moveRow(by) {
  const rows = all(".row").filter(visible);
  const at = rows.indexOf(document.activeElement);
  const from = at < 0 ? rows.findIndex((row) => row.hasAttribute("aria-current")) : at;
  rows[Math.min(Math.max(from + by, 0), rows.length - 1)]?.focus();
}
