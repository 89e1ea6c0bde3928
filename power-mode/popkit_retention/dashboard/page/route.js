// Where we are, as the part of the address behind #: #/session/ID, #/memory, …

import { useEffect, useState } from "./vendor/preact-htm.js";
import { useLive } from "./live.js";

export const VIEWS = [
  ["sessions", "Sessions"],
  ["memory", "Memory"],
  ["retention", "Retention"],
  ["budgets", "Budgets"],
  ["bill", "Bill"],
  ["stats", "Stats"],
];

/** {view, id}: `id` of a session, or the project of a memory. */
export function read(hash) {
  const [view, ...rest] = hash.replace(/^#\/?/, "").split("/");
  let id = "";
  try {
    id = decodeURIComponent(rest.join("/"));
  } catch {
    // An address that somebody cut off leads to the list.
  }
  if (view === "session" && id) return { view: "sessions", id };
  return { view: VIEWS.some(([name]) => name === view) ? view : "sessions", id: view === "memory" ? id : "" };
}

export const toSession = (id) => `#/session/${encodeURIComponent(id)}`;
export const toMemory = (project) => `#/memory/${encodeURIComponent(project)}`;

export function useRoute() {
  const [hash, set] = useState(location.hash);
  useEffect(() => {
    const moved = () => set(location.hash);
    addEventListener("hashchange", moved);
    moved(); // it may have moved before anybody listened
    return () => removeEventListener("hashchange", moved);
  }, []);
  return read(hash);
}

/** The title of the browser's tab: what matters first. */
export function useTitle(...parts) {
  const { phase } = useLive();
  const lost = phase === "lost" || phase === "locked";
  const said = [lost && "Not connected", ...parts, "PopKit"].filter(Boolean).join(" · ");
  useEffect(() => {
    document.title = said;
  }, [said]);
}
