// Whether there is a connection, and the clock: what is shown goes by the server's.

import { useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { News, useNews } from "./news.js";

const news = new News();
const SKEW_S = 2; // so far our clock and the server's may be apart before we go by its own
const MINUTE_S = 60;

export const live = {
  phase: "connecting", // then live, lost or locked
  since: Date.now() / 1000, // when the server answered last, by our clock
  ahead: 0, // seconds that its clock is ahead of ours
};

/** Seconds since 1970, by the server's clock. */
export const now = () => Date.now() / 1000 + live.ahead;

/** There is a connection, or none, from now on. */
export function become(phase) {
  if (phase === live.phase) return;
  live.phase = phase;
  news.tell();
}

/** Takes over the server's clock, which says `at`. */
export function setClock(at) {
  const off = at - Date.now() / 1000;
  live.ahead = Math.abs(off) > SKEW_S ? off : 0;
  if (live.ahead) tickAll(); // what was drawn before went by our own clock
}

/** Draws a component anew when the phase is another. */
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

/** Calls `turned` when the clock alone changes what is true of one of these sessions: its cache goes cold, or it runs a minute longer. */
export function useTurns(sessions, turned) {
  const newest = useRef();
  newest.current = { sessions, turned };
  useEffect(() => {
    let from = now();
    return every(1, () => {
      const to = now();
      const { sessions: known, turned: tell } = newest.current;
      if (known.some((session) => hasTurned(session, from, to))) tell();
      from = to;
    });
  }, []);
}

function hasTurned({ running, context }, from, to) {
  if (running && Math.floor(to / MINUTE_S) > Math.floor(from / MINUTE_S)) return true;
  const cold = (context?.cache_until ?? 0) + SKEW_S; // by the server's clock too
  return cold > from && cold <= to;
}
