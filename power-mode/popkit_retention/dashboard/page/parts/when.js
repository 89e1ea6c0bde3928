// How long ago something was.

import { html } from "../vendor/preact-htm.js";
import { ago } from "../format.js";
import { useNow } from "../live.js";

/** 3 h ago: it goes on by the minute. */
export function Ago({ at }) {
  const now = useNow();
  return html`<time datetime=${new Date(at * 1000).toISOString()}>${ago(at, now)}</time>`;
}
