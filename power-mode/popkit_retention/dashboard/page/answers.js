// Answers of the server, kept while a view shows them: what is known is shown while what is newer is asked for.

import { useEffect, useState } from "./vendor/preact-htm.js";
import { get } from "./api.js";
import { useLive } from "./live.js";

const known = new Map(); // path -> {data, error, stamp, number, watchers}
const MOST = 60;

function entry(path) {
  let found = known.get(path);
  if (!found) {
    found = { data: null, error: null, stamp: undefined, number: 0, watchers: new Set() };
    known.set(path, found);
    for (const [other, { watchers }] of known) {
      if (known.size <= MOST) break;
      if (!watchers.size && other !== path) known.delete(other);
    }
  }
  return found;
}

async function ask(path, stamp) {
  const here = entry(path);
  here.stamp = stamp;
  here.number += 1;
  const mine = here.number;
  try {
    const data = await get(path);
    // An answer that was overtaken by a newer question is old.
    if (mine === here.number) Object.assign(here, { data, error: null });
  } catch (error) {
    if (mine === here.number) here.error = error;
  }
  if (mine === here.number) here.watchers.forEach((watch) => watch());
}

/** {data, error, again} of a path; asked for anew whenever `newest` is another stamp, and after every new connection. */
export function useAnswer(path, newest = "") {
  const stamp = `${useLive().round} ${newest}`;
  const [, draw] = useState(0);
  useEffect(() => {
    const here = entry(path);
    const watch = () => draw((count) => count + 1);
    here.watchers.add(watch);
    if (here.stamp !== stamp || here.error) ask(path, stamp);
    return () => here.watchers.delete(watch);
  }, [path, stamp]);
  const { data, error } = entry(path);
  return { data, error, again: () => ask(path, stamp) };
}

/** Asks anew for everything under a path that is shown: after a deed. */
export function refresh(prefix) {
  for (const [path, { watchers, stamp }] of known) {
    if (!path.startsWith(prefix)) continue;
    if (watchers.size) ask(path, stamp);
    else known.delete(path);
  }
}
