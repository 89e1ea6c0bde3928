// What the stream told, for every view: the newest rows of sessions, a stamp for each part, and whether there is a connection.

import { useEffect, useState } from "./vendor/preact-htm.js";
import { forgetServer } from "./api.js";
import { News, useNews } from "./news.js";
import { Stream } from "./stream.js";

const news = new News();
const MOST_ROWS = 50; // that the server sends at once

export const live = {
  phase: "connecting",
  since: Date.now() / 1000, // when there was a connection last, by our clock; with one: since when
  startedAt: 0, // which server
  ahead: 0, // seconds that its clock is ahead of ours
  rows: new Map(), // id -> {row, at}: the newest row of a session, and when it was told or asked for (performance.now)
  round: 0, // grows with every connection after the first: what is shown may be old then
  list: 0, // changes when the list has to be asked for anew
  stamps: { memory: "", retention: "", budgets: "", stats: "" },
};

/** Seconds since 1970, by the server's clock. */
export const now = () => Date.now() / 1000 + live.ahead;

function heard(event) {
  live.heardAt = Date.now() / 1000;
  if (event.type === "hello") return greeted(event);
  if (event.type === "sessions") {
    // No rows: sessions have gone; so many: there are more that were not sent.
    if (!event.sessions.length || event.sessions.length >= MOST_ROWS) live.list += 1;
    for (const row of event.sessions) {
      const before = live.rows.get(row.id);
      // Another order of the list is worth a question; other figures in it are not.
      if (!before || before.running !== row.running) live.list += 1;
      live.rows.set(row.id, row);
    }
  } else {
    live.stamps = { ...live.stamps, [event.type]: event.stamp };
  }
  return undefined;
}

function greeted(event) {
  const off = event.at - Date.now() / 1000;
  live.ahead = Math.abs(off) > 2 ? off : 0;
  const another = live.startedAt !== 0;
  live.startedAt = event.started_at;
  if (!another) return;
  // We were away, and do not know what was missed; and it may be another server with another token.
  forgetServer();
  live.rows.clear();
  live.round += 1;
}

function take(said) {
  if (said.kind === "event") heard(said.event);
  else Object.assign(live, { phase: said.phase, since: said.since });
  news.tell();
}

/** Takes note of rows that came with an answer, so that events can be told from news. */
export function know(rows) {
  for (const row of rows) if (!live.rows.has(row.id)) live.rows.set(row.id, row);
}

let hurryUp = () => {};
/** Tries to connect now, not after the wait. */
export const hurry = () => hurryUp();

export function start() {
  if (typeof SharedWorker === "undefined") {
    const stream = new Stream(take);
    hurryUp = () => stream.hurry();
    return;
  }
  const worker = new SharedWorker(new URL("./stream-worker.js", import.meta.url), { type: "module", name: "popkit" });
  worker.port.onmessage = ({ data }) => take(data);
  hurryUp = () => worker.port.postMessage("hurry");
  addEventListener("pagehide", () => worker.port.postMessage("leave"));
  // A page that comes back out of the browser's memory has left.
  addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
}

/** Draws a component anew when something was heard. */
export function useLive() {
  useNews(news);
  return live;
}

const tickers = new Set();
let beat = 0;

/** The time, each second while somebody shows it. */
export function useNow(wanted = true) {
  const [at, set] = useState(now());
  useEffect(() => {
    if (!wanted) return undefined;
    const tick = () => set(now());
    tickers.add(tick);
    beat ||= setInterval(() => tickers.forEach((each) => each()), 1000);
    return () => {
      tickers.delete(tick);
      if (!tickers.size) beat = clearInterval(beat) ?? 0;
    };
  }, [wanted]);
  return at;
}
