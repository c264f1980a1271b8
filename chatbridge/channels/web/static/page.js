// What every part of the script uses: finding things on the page, and saying something to a person.

export const find = (selector, root = document) => root.querySelector(selector);
export const all = (selector, root = document) => [...root.querySelectorAll(selector)];
export const card = () => find("#card");
export const parse = (html) => new DOMParser().parseFromString(html, "text/html");

export function announce(text) {
  find("#announcer").textContent = text;
}

let toastTimer;
export function toast(text) {
  find("#toast").textContent = text;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { find("#toast").textContent = ""; }, 6000);
}
