// The tiers of a result, the layers of a context, and how each is drawn. The colours stand in styles/colours.css; a pattern goes with
// each, so that nothing is told by colour alone.

import { html } from "./vendor/preact-htm.js";

/** Lifetimes, shortest first. */
export const TIERS = ["ephemeral", "short", "medium", "session", "preserved"];

export const LAYERS = [
  ["tier1", "System and current request"],
  ["tier2", "Memory"],
  ["tier3", "Files"],
  ["tier4", "History"],
];

// What is drawn over the plain colour of each: lines in a 6 by 6 tile.
const LINES = {
  ephemeral: "M1.5 1.5h.01M4.5 4.5h.01",
  short: "M-1 4L4 -1M2 7L7 2",
  medium: "",
  session: "M0 1.5H6M0 4.5H6",
  preserved: "M3 0V6M0 3H6",
  tier1: "",
  tier2: "M-1 4L4 -1M2 7L7 2",
  tier3: "M1.5 1.5h.01M4.5 4.5h.01",
  tier4: "M0 1.5H6M0 4.5H6",
  use: "",
  rest: "",
};

/** What a part of a chart is filled with. */
export const fillOf = (name) => `url(#fill-${name})`;
/** An expired result of a tier: its colour as stripes. */
export const expiredFill = (tier) => `url(#expired-${tier})`;

/** The patterns, once on the page. */
export function Patterns() {
  const tile = { width: 6, height: 6, patternUnits: "userSpaceOnUse" };
  return html`<svg class="patterns" width="0" height="0" aria-hidden="true" focusable="false">
    <defs>
      ${Object.entries(LINES).map(
        ([name, lines]) =>
          html`<pattern key=${name} id=${`fill-${name}`} ...${tile}>
            <rect width="6" height="6" class=${`paint-${name}`} />
            ${lines && html`<path d=${lines} class="pattern-lines" />`}
          </pattern>`,
      )}
      ${[...TIERS, "any"].map(
        (name) =>
          html`<pattern key=${name} id=${`expired-${name}`} ...${tile}>
            <rect width="6" height="6" class="expired-ground" />
            <path d="M-1 1L1 -1M-1 7L7 -1M5 7L7 5" class=${`pattern-expired line-${name}`} />
          </pattern>`,
      )}
    </defs>
  </svg>`;
}

/** What is no fill, in legends: the dots of what was cleared, the line of a net. */
export const CLEARED = "cleared";
export const LINE = "line";

/** A small square of a fill, for legends. */
export function Swatch({ fill }) {
  const drawn =
    fill === CLEARED
      ? html`<line class="life-cleared line-any" x1="2" x2="14" y1="7" y2="7" />`
      : fill === LINE
        ? html`<line class="line" x1="0" x2="14" y1="7" y2="7" />`
        : html`<rect width="14" height="14" rx="3" fill=${fill} />`;
  return html`<svg class="swatch" width="14" height="14" aria-hidden="true">${drawn}</svg>`;
}

/** Names beside their swatches: [[name, fill]]. */
export function Legend({ items }) {
  return html`<ul class="legend">${items.map(([name, fill]) => html`<li key=${name}><${Swatch} fill=${fill} />${name}</li>`)}</ul>`;
}
