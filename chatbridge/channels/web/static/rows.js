// The open questions beside a card, or alone on their page: kept up to date, and new ones announced.

import { setClock } from "./clock.js";
import { all, announce, card, find, parse } from "./page.js";

// `prepare` makes what is new ready to be shown. Returns how many questions are open, and which of
// them are listed.
export function swapRows(html, prepare) {
  const fresh = find("#rows", parse(html));
  if (!fresh) return null;
  setClock(fresh);
  const count = Number(fresh.dataset.count);
  document.title = count ? `(${count}) chatbridge` : "chatbridge";
  find("#open-count").textContent = count ? ` (${count})` : "";
  const connected = Number(fresh.dataset.connected);
  find("#agent-count").textContent = connected ? ` (${connected})` : "";
  const asks = all("[data-ask]", fresh).map((row) => row.dataset.ask);
  announceNew(all("[data-ask]", fresh));
  const old = find("#rows");
  if (!old) return { count, asks };
  const focused = document.activeElement?.closest?.("#rows [data-ask]")?.dataset.ask;
  if (card()) find(`[data-ask="${card().dataset.ask}"]`, fresh)?.setAttribute("aria-current", "true");
  prepare(fresh);
  if (!old.isEqualNode(fresh)) old.replaceWith(fresh);
  if (focused) find(`#rows [data-ask="${focused}"]`)?.focus({ preventScroll: true });
  if (card()) linkNext(card());
  return { count, asks };
}

// The list has a page's worth of rows: one that moves up into it is not new.
let known = null;
let newest = 0;
function announceNew(rows) {
  const fresh = known
    ? rows.filter((row) => !known.has(row.dataset.ask) && Number(row.dataset.created) >= newest) : [];
  know(rows);
  if (fresh.length) announce(fresh.map((row) => `New question from ${row.dataset.project}`).join(". "));
}

function know(rows) {
  known = new Set(rows.map((row) => row.dataset.ask));
  newest = Math.max(newest, ...rows.map((row) => Number(row.dataset.created)));
}

export function linkNext(root) {
  const rows = all("#rows [data-ask]");
  const others = rows.filter((row) => row.dataset.ask !== root.dataset.ask);
  const link = find("#next", root);
  if (!link) return;
  const back = find(".back").getAttribute("href");
  if (back.startsWith("/history")) {
    link.setAttribute("href", back);
    link.textContent = "Back to History";
    return;
  }
  link.setAttribute("href", others[0]?.getAttribute("href") ?? "/");
  const count = Number(find("#rows")?.dataset.count ?? 0) - (rows.length - others.length);
  link.textContent = others.length ? `Next question (${count})` : "Open questions";
}

export function knowRows() {
  if (find("#rows")) know(all("#rows [data-ask]"));
}
