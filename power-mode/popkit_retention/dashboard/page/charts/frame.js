// What all charts share: their width, steps of an axis, a cursor for pointer and arrow keys, and the table behind them.

import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact-htm.js";

/** [ref, columns]: how wide an element is drawn. */
export function useWidth(before = 600) {
  const ref = useRef(null);
  const [width, set] = useState(before);
  useLayoutEffect(() => {
    const measure = () => ref.current && set(Math.max(200, Math.floor(ref.current.clientWidth)));
    measure();
    const watcher = new ResizeObserver(measure);
    watcher.observe(ref.current);
    return () => watcher.disconnect();
  }, []);
  return [ref, width];
}

/** Round steps from 0 (or below) that hold a range, about `count` of them. */
export function stepsOf(low, high, count = 4) {
  const range = high - low || 1;
  const rough = range / count;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((each) => each * unit >= rough) * unit;
  const found = [];
  for (let at = Math.floor(low / step) * step; at < high + step; at += step) found.push(Math.round(at * 1e6) / 1e6);
  return found;
}

/** At most `most` of so many places, spread evenly, the last one among them. */
export function spread(count, most) {
  const every = Math.max(1, Math.ceil(count / Math.max(1, most)));
  return Array.from({ length: count }, (_, at) => at).filter((at) => (count - 1 - at) % every === 0);
}

/**
 * A chart that a person can walk through: pointer or arrow keys choose one of `count` places, whose words stand below. `place`: x in
 * pixels -> place; `words`: place -> what stands there. `children`: the chosen place (or -1) -> what is drawn.
 */
export function Walkable({ count, label, place, words, hint, children }) {
  const [at, choose] = useState(-1);
  const [spoken, speak] = useState("");
  useEffect(() => {
    if (at >= count) choose(-1);
  }, [count]);
  const walk = (event) => {
    const to = { ArrowLeft: at < 0 ? count - 1 : at - 1, ArrowRight: at + 1, Home: 0, End: count - 1 }[event.key];
    if (event.key === "Escape") choose(-1);
    if (to === undefined || !count) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(count - 1, to));
    choose(next);
    speak(words(next));
  };
  const point = (event) => choose(place(event.clientX - event.currentTarget.getBoundingClientRect().left));
  return html`<div
      class="walkable"
      tabindex="0"
      role="group"
      aria-label=${`${label} The arrow keys walk through it.`}
      onKeyDown=${walk}
      onPointerMove=${point}
      onPointerDown=${point}
      onPointerLeave=${() => choose(-1)}
      onBlur=${() => choose(-1)}
    >
      ${children(at)}
    </div>
    <p class="readout" aria-hidden="true">${at >= 0 && at < count ? words(at) : hint}</p>
    <p class="unseen" aria-live="polite">${spoken}</p>`;
}

/** The figures of a chart as a table. `head`: titles; `rows`: () -> lists of texts, asked for when somebody opens it. */
export function DataTable({ caption, head, rows }) {
  const [open, set] = useState(false);
  return html`<details class="data" onToggle=${(event) => set(event.target.open)}>
    <summary>Show as a table<span class="unseen">: ${caption}</span></summary>
    ${
      open &&
      html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}>
      <table>
        <caption class="unseen">
          ${caption}
        </caption>
        <thead>
          <tr>
            ${head.map((title) => html`<th scope="col" key=${title}>${title}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows().map(
            (row, at) =>
              html`<tr key=${at}>
                <th scope="row">${row[0]}</th>
                ${row.slice(1).map((cell, column) => html`<td key=${column}>${cell}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`
    }
  </details>`;
}

/** Lines across at the steps of an axis, with their figures at the left. */
export function Grid({ steps, y, left, right, words }) {
  return html`<g class="grid" aria-hidden="true">
    ${steps.map(
      (step) =>
        html`<g key=${step}>
          <line x1=${left} x2=${right} y1=${y(step)} y2=${y(step)} class=${step === 0 ? "axis" : ""} />
          <text x=${left - 6} y=${y(step)} dy="0.32em" text-anchor="end">${words(step)}</text>
        </g>`,
    )}
  </g>`;
}
