// What has changed since: asked once a second while the page is looked at, and what is shown of it is asked for again.

import { renew } from "./answers.js";
import { forgetServer, get, query } from "./api.js";
import { become, live, setClock } from "./live.js";

const EVERY_MS = 1000;
const FIRST_WAIT_MS = 400; // after a failure; then longer and longer
const LONGEST_WAIT_MS = 4000;
const SILENT_MS = 30_000; // a server that says nothing for so long is gone

let token = "";
let timer = 0;
let asking = false;
let wait = FIRST_WAIT_MS;

async function ask() {
  if (asking) return;
  clearTimeout(timer);
  asking = true;
  const answer = await get(query("/api/changes", { since: token }), { signal: AbortSignal.timeout(SILENT_MS) }).catch(failed);
  if (answer) heard(answer);
  asking = false;
  if (!document.hidden) timer = setTimeout(ask, pause());
}

function failed({ status }) {
  // A server which does not know this page's token: another one was started since.
  become(status === 401 || status === 403 ? "locked" : "lost");
}

function heard({ token: next, at, everything, changed }) {
  const isNew = live.phase !== "live"; // what failed meanwhile is asked for again, too
  if (everything) forgetServer();
  if (isNew) setClock(at);
  token = next;
  live.since = Date.now() / 1000;
  become("live");
  if (everything || isNew) renew("");
  else changed.forEach(renew);
}

function pause() {
  if (live.phase === "live") {
    wait = FIRST_WAIT_MS;
    return EVERY_MS;
  }
  const now = wait;
  wait = Math.min(LONGEST_WAIT_MS, wait * 1.6);
  return now;
}

/** Tries to connect now, not after the wait. */
export function hurry() {
  wait = FIRST_WAIT_MS;
  ask();
}

/** Asks from now on; a promise of the end of the first question, whichever it is. */
export function start() {
  document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : ask()));
  return ask();
}
