// The history's search field: the list follows what is typed, and so does the page's address.

import { showLocalTimes } from "./clock.js";
import { announce, find, parse } from "./page.js";

const PAUSE_MS = 200;
let timer;
let newest = 0;

// `get` loads a page.
export function filterHistory(field, get) {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    const words = field.value.trim();
    const address = words ? `/history?q=${encodeURIComponent(words)}` : "/history";
    const mine = ++newest;
    const fresh = find("#found", parse(await get(address)));
    if (!fresh || mine !== newest) return;
    showLocalTimes(fresh);
    find("#found").replaceWith(fresh);
    history.replaceState(null, "", address);
    announce(`${fresh.dataset.count} found`);
  }, PAUSE_MS);
}
