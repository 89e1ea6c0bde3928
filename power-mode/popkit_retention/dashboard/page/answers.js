// Answers of the server, kept while a view shows them: what is known is shown while what is newer is asked for.

import { useEffect, useRef } from "./vendor/preact-htm.js";
import { get } from "./api.js";
import { News, useNews } from "./news.js";

const known = new Map(); // path -> {path, data, error, due, asking, news}
const MOST = 60;

function entry(path) {
  let found = known.get(path);
  if (!found) {
    found = { path, data: null, error: null, due: true, asking: false, news: new News() };
    known.set(path, found);
    for (const [other, { news }] of known) {
      if (known.size <= MOST) break;
      if (!news.watchers.size && other !== path) known.delete(other);
    }
  }
  return found;
}

let first = null;
/** Holds all questions until a promise is kept: that of the first token, so that nothing that changes behind an answer is missed. */
export const holdUntil = (promise) => (first = promise);

/** One question for a path at a time: its answer is shown, and what is wanted meanwhile is asked for once when it is there. */
async function ask(here) {
  here.due = true;
  if (here.asking) return;
  here.asking = true;
  await first;
  while (here.due) {
    here.due = false;
    try {
      Object.assign(here, { data: await get(here.path), error: null });
    } catch (error) {
      here.error = error;
    }
    here.news.tell();
  }
  here.asking = false;
}

/**
 * {data, error, again} of a path; asked for anew whenever it may be answered otherwise. Where the path is another, the answer that was
 * shown stays until there is one to the new path.
 */
export function useAnswer(path) {
  const here = entry(path);
  const shown = useRef(here);
  useNews(here.news);
  useEffect(() => {
    if (here.due || here.error) ask(here);
  }, [here]);
  if (here.data) shown.current = here;
  return { data: shown.current.data, error: here.error, again: () => ask(here) };
}

/** What begins so may be answered otherwise now: what is shown of it is asked for at once, all else when it is shown again. */
export function renew(beginning) {
  for (const [path, here] of known) {
    if (!path.startsWith(beginning)) continue;
    here.due = true;
    if (here.news.watchers.size) ask(here);
  }
}
