// What the stream told, for every view: the newest rows of sessions, a stamp for each part, and whether there is a connection.

import { useEffect, useState } from "./vendor/preact-htm.js";
import { forgetServer } from "./api.js";
import { News, useNews } from "./news.js";
import { Stream } from "./stream.js";

const news = new News();
const MOST_ROWS = 50; // that the server sends at once
const SKEW_S = 2; // so far our clock and the server's may be apart before we go by its own
const MINUTE_S = 60;

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

/** The newest row of a session; undefined where none was told. */
export const rowOf = (id) => live.rows.get(id)?.row;

function heard(event) {
  if (event.type === "hello") greeted(event);
  else if (event.type === "sessions") told(event);
  else live.stamps = { ...live.stamps, [event.type]: event.stamp };
}

function told({ sessions, gone = [] }) {
  // No rows: sessions have gone; so many: there are more that were not sent.
  if (gone.length || !sessions.length || sessions.length >= MOST_ROWS) live.list += 1;
  for (const id of gone) live.rows.delete(id);
  // Another order of the list is worth a question; other figures in it are not.
  if (sessions.some(({ id, running }) => rowOf(id)?.running !== running)) live.list += 1;
  keep(sessions, performance.now());
}

/** Keeps rows that were told or asked for at that time, where none is newer; whether any says something else than before. */
function keep(rows, at) {
  let differs = false;
  for (const row of rows) {
    const before = live.rows.get(row.id);
    if (before && before.at > at) continue;
    const same = before && JSON.stringify(before.row) === JSON.stringify(row);
    differs ||= !same;
    live.rows.set(row.id, { row: same ? before.row : row, at }); // a row that stays the same object is not drawn anew
  }
  return differs;
}

function greeted(event) {
  const off = event.at - Date.now() / 1000;
  live.ahead = Math.abs(off) > SKEW_S ? off : 0;
  if (live.ahead) tickAll(); // what was drawn before went by our own clock
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

/** Takes note of rows that came with an answer, which was asked for at that time. */
export function know(rows, at) {
  if (keep(rows, at)) news.tell();
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

const beats = new Map(); // seconds -> {ticks, timer}

/** Calls `tick` every so many seconds, until what it returns is called. All that have the same beat share a timer. */
function every(seconds, tick) {
  if (!beats.has(seconds)) beats.set(seconds, { ticks: new Set(), timer: 0 });
  const beat = beats.get(seconds);
  beat.ticks.add(tick);
  beat.timer ||= setInterval(() => beat.ticks.forEach((each) => each()), seconds * 1000);
  return () => {
    beat.ticks.delete(tick);
    if (!beat.ticks.size) beat.timer = clearInterval(beat.timer) ?? 0;
  };
}

const tickAll = () => beats.forEach(({ ticks }) => ticks.forEach((each) => each()));

/** The time, anew every so many seconds. */
export function useNow(seconds = MINUTE_S) {
  const [at, set] = useState(now);
  useEffect(() => {
    if (seconds < MINUTE_S) set(now()); // what went by minutes before may be one behind
    return every(seconds, () => set(now()));
  }, [seconds]);
  return at;
}

/** When the clock alone last changed what is true of a session, "" for any: a cache went cold, or it runs a minute longer. First: now. */
export function useTurn(id = "") {
  const [turn, set] = useState(now);
  useEffect(() => {
    let from = now();
    return every(1, () => {
      const to = now();
      if ([...live.rows.values()].some(({ row }) => (!id || row.id === id) && hasTurned(row, from, to))) set(to);
      from = to;
    });
  }, [id]);
  return turn;
}

function hasTurned({ running, context }, from, to) {
  if (running && Math.floor(to / MINUTE_S) > Math.floor(from / MINUTE_S)) return true;
  const cold = (context?.cache_until ?? 0) + SKEW_S; // by the server's clock too
  return cold > from && cold <= to;
}
