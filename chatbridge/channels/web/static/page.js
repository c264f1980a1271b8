// What every part of the script uses: finding things on the page, and saying something to a person.

export const find = (selector, root = document) => root.querySelector(selector);
export const all = (selector, root = document) => [...root.querySelectorAll(selector)];
export const card = () => find("#card");
export const parse = (html) => new DOMParser().parseFromString(html, "text/html");

export function announce(text) {
  find("#announcer").textContent = text;
}

// Says so on the button: a sheet covers the toast.
export async function copy(button) {
  const shown = find(`#${button.dataset.copies}`);
  if (shown.select) shown.select();
  else getSelection().selectAllChildren(shown);
  // The clipboard's own interface is only there on https and on this computer.
  const written = navigator.clipboard?.writeText(shown.value ?? shown.textContent).then(() => true, () => false);
  const done = (await written) || document.execCommand("copy");
  button.textContent = done ? "Copied" : "Selected: copy it";
  announce(button.textContent);
}

let toastTimer;
export function toast(text) {
  find("#toast").textContent = text;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { find("#toast").textContent = ""; }, 6000);
}
