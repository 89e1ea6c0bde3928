// How full a context is, and until when its prompt cache is warm.

import { html } from "../vendor/preact-htm.js";
import { countdown, percent } from "../format.js";
import { useNow } from "../live.js";

/** A meter as a bar. `level`: a class for its colour. */
export function Meter({ ratio, label, level = levelOf(ratio) }) {
  const share = Math.max(0, Math.min(1, ratio)) * 100;
  return html`<svg class=${`meter ${level}`} role="img" aria-label=${label}>
    <rect class="meter-track" width="100%" height="100%" rx="4" />
    ${share > 0 && html`<rect class="meter-fill" width=${`${Math.max(share, 0.8)}%`} height="100%" rx="4" />`}
  </svg>`;
}

/** Calm below 60 %, warned from there, full from 80 %: the bounds of the builder. */
export const levelOf = (ratio) => (ratio >= 0.8 ? "meter-full" : ratio >= 0.6 ? "meter-high" : "");

/** 14,339 of 1,000,000 tokens (1%) */
export const fillWords = (fill) => `${fill.words} (${percent(fill.ratio)})`;

/** warm, 4 min 30 s left: it counts down. */
export function Cache({ fill, short }) {
  const warm = fill.cache === "warm" && fill.cache_until !== null;
  const now = useNow(warm ? 1 : undefined);
  const left = warm ? fill.cache_until - now : 0;
  if (left <= 0) return html`<span class="cache cache-cold"><${CacheMark} />${short ? "cold" : "Cache cold"}</span>`;
  const words = short ? countdown(left) : `Cache warm, ${countdown(left)} left`;
  return html`<span class="cache cache-warm" title=${short ? `The prompt cache is warm for ${countdown(left)}` : null}>
    <${CacheMark} warm />${words}
  </span>`;
}

// Full for warm, hollow for cold: told apart without its colour too.
function CacheMark({ warm }) {
  return html`<svg class="cache-mark" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
    <circle cx="5" cy="5" r=${warm ? 4.5 : 3.75} class=${warm ? "mark-full" : "mark-hollow"} />
  </svg>`;
}
