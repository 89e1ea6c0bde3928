// Answers of the server, kept while a view shows them: what is known is shown while what is newer is asked for.

import { useEffect } from "./vendor/preact-htm.js";
import { get } from "./api.js";
import { useLive } from "./live.js";
import { News, useNews } from "./news.js";

const known = new Map(); // path -> {path, data, error, stamp, number, news}
const MOST = 60;

function entry(path) {
  let found = known.get(path);
  if (!found) {
    found = { path, data: null, error: null, stamp: undefined, number: 0, news: new News() };
    known.set(path, found);
    for (const [other, { news }] of known) {
      if (known.size <= MOST) break;
      if (!news.watchers.size && other !== path) known.delete(other);
    }
  }
  return found;
}

async function ask(here, stamp) {
  here.stamp = stamp;
  here.number += 1;
  const mine = here.number;
  try {
    const data = await get(here.path);
    // An answer that was overtaken by a newer question is old.
    if (mine === here.number) Object.assign(here, { data, error: null });
  } catch (error) {
    if (mine === here.number) here.error = error;
  }
  if (mine === here.number) here.news.tell();
}

/** {data, error, again} of a path; asked for anew whenever `newest` is another stamp, and after every new connection. */
export function useAnswer(path, newest = "") {
  const stamp = `${useLive().round} ${newest}`;
  const here = entry(path);
  useNews(here.news);
  useEffect(() => {
    if (here.stamp !== stamp || here.error) ask(here, stamp);
  }, [here, stamp]);
  const { data, error } = here;
  return { data, error, again: () => ask(here, stamp) };
}

/** Asks anew for everything under a path that is shown: after a deed. */
export function refresh(prefix) {
  for (const [path, here] of known) {
    if (!path.startsWith(prefix)) continue;
    if (here.news.watchers.size) ask(here, here.stamp);
    else known.delete(path);
  }
}
