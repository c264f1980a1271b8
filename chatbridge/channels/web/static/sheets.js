// Sheets: dialogs of a card that ask for some words before anything is sent, and the one that shows
// an address before it is opened.

import { all, card, find } from "./page.js";

const openSheet = (root) => find("dialog[open]", root);

// Whether this form's tap opens a sheet instead of being sent.
export function opensSheet(form) {
  const sheet = form.dataset.sheet && find(`#${form.dataset.sheet}`);
  if (!sheet) return false;
  closeSheet();
  sheet.showModal();
  return true;
}

export function closeSheet() {
  openSheet(card())?.close();
}

export function showAddress(link) {
  const to = new URL(link.href).searchParams.get("to");
  find("#address-host").textContent = link.dataset.host;
  find("#address-text").textContent = to;
  find("#address-open").href = to;
  find("[data-copies=address-text]").textContent = "Copy";
  find("#address").showModal();
}

// Carries what is open over a swap: first into what is to be swapped in, then, once it is there,
// as a dialog.
export function keepOpen(old, fresh) {
  const sheet = openSheet(old);
  for (const box of all("[open]", old)) find(`#${box.id}`, fresh)?.setAttribute("open", "");
  return () => {
    if (!sheet || sheet.isConnected) return;
    const again = find(`#${sheet.id}`, old);
    again?.removeAttribute("open");
    again?.showModal();
  };
}
