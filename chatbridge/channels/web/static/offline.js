// The page that is there without a connection: it comes back by itself once the hub does.

const LONGEST_PAUSE_S = 30;
const HERE = ["127.0.0.1", "localhost", "[::1]"];

let pause = 2;
let timer;

async function look() {
  clearTimeout(timer);
  const reached = await fetch("/healthz", { cache: "no-store" }).then(({ ok }) => ok, () => false);
  if (!reached) return document.hidden || wait(); // hidden: looks again when somebody does
  return location.pathname === "/offline" ? location.replace("/") : location.reload();
}

function wait() {
  timer = setTimeout(look, pause * 1000);
  pause = Math.min(pause * 2, LONGEST_PAUSE_S);
}

if (HERE.includes(location.hostname)) {
  document.querySelector("h1").textContent = "chatbridge is not running";
  document.querySelector("#why").textContent = "Start it on this computer:";
  document.querySelector("pre").hidden = false;
}
document.querySelector("#waits").hidden = false;
window.addEventListener("online", look);
document.addEventListener("visibilitychange", () => document.hidden || look());
wait();
