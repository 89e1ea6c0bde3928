// Where we are, as the part of the address behind #: #/session/ID, #/memory, …

import { useEffect, useState } from "./vendor/preact-htm.js";
import { useLive } from "./live.js";

/** The views of tiles: {name, title, module}, as index.html names the tiles that are there. */
export const TILES = [...document.querySelectorAll("link[data-view]")].map(({ dataset, href }) => ({
  name: dataset.view,
  title: dataset.title,
  module: href,
}));

const isTile = (view) => TILES.some(({ name }) => name === view);

/** {view, id}: `id` of a session, or what the view of a tile shows. */
export function read(hash) {
  const [view, ...rest] = hash.replace(/^#\/?/, "").split("/");
  let id = "";
  try {
    id = decodeURIComponent(rest.join("/"));
  } catch {
    // An address that somebody cut off leads to the list.
  }
  if (view === "session" && id) return { view: "sessions", id };
  return isTile(view) ? { view, id } : { view: "sessions", id: "" };
}

export const toSession = (id) => `#/session/${encodeURIComponent(id)}`;

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
  const title = [lost && "Not connected", ...parts, "PopKit"].filter(Boolean).join(" · ");
  useEffect(() => {
    document.title = title;
  }, [title]);
}
