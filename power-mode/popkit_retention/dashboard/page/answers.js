// Answers of the server, kept while a view shows them: what is known is shown while what is newer is asked for.

import { useEffect, useRef } from "./vendor/preact-htm.js";
import { get } from "./api.js";
import { useLive } from "./live.js";
import { News, useNews } from "./news.js";

const known = new Map(); // path -> {path, data, at, error, stamp, wanted, asking, news}
const MOST = 60;

function entry(path) {
  let found = known.get(path);
  if (!found) {
    found = { path, data: null, at: 0, error: null, stamp: undefined, wanted: false, asking: false, news: new News() };
    known.set(path, found);
    for (const [other, { news }] of known) {
      if (known.size <= MOST) break;
      if (!news.watchers.size && other !== path) known.delete(other);
    }
  }
  return found;
}

/** One question for a path at a time: its answer is shown, and what is wanted meanwhile is asked for once when it is there. */
async function ask(here, stamp) {
  Object.assign(here, { stamp, wanted: true });
  if (here.asking) return;
  here.asking = true;
  while (here.wanted) {
    here.wanted = false;
    const at = performance.now();
    try {
      Object.assign(here, { data: await get(here.path), at, error: null });
    } catch (error) {
      here.error = error;
    }
    here.news.tell();
  }
  here.asking = false;
}

/**
 * {data, at, error, again} of a path; asked for anew whenever `newest` is another stamp, and after every new connection. `at`: when the
 * answer was asked for (performance.now). Where the path is another, the answer that was shown stays until there is one to the new path.
 */
export function useAnswer(path, newest = "") {
  const stamp = `${useLive().round} ${newest}`;
  const here = entry(path);
  const shown = useRef(here);
  useNews(here.news);
  useEffect(() => {
    if (here.stamp !== stamp || here.error) ask(here, stamp);
  }, [here, stamp]);
  if (here.data) shown.current = here;
  const { data, at } = shown.current;
  return { data, at, error: here.error, again: () => ask(here, stamp) };
}

/** Asks anew for everything under a path that is shown: after a deed. */
export function refresh(prefix) {
  for (const [path, here] of known) {
    if (!path.startsWith(prefix)) continue;
    if (here.news.watchers.size) ask(here, here.stamp);
    else known.delete(path);
  }
}
