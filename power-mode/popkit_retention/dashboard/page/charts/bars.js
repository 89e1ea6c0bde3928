// Bars: one for each day, upwards and downwards; or one for each name, side by side with its figure.

import { html } from "../vendor/preact-htm.js";
import { dayOf, tokens } from "../format.js";
import { DataTable, Grid, spread, stepsOf, useWidth, Walkable } from "./frame.js";

const HEIGHT = 200;
const EDGE = { left: 52, right: 8, top: 10, bottom: 24 };

const figure = (amount) => (amount < 0 ? `-${tokens(-amount).replace("~", "")}` : tokens(amount).replace("~", ""));

/**
 * days: [{day, values: {key: amount}}] · up, down: [{key, name, fill}] stacked away from zero · line: {key, name} over them, or none.
 * `words`: amount -> text, for table and readout; `ticks`: the same for the axis, which ends at `least` or above.
 */
export function DayBars({ days, up, down = [], line, caption, words, ticks = figure, least = 1 }) {
  const [ref, width] = useWidth();
  const sum = (values, parts) => parts.reduce((all, { key }) => all + values[key], 0);
  const lines = line ? days.map(({ values }) => values[line.key]) : [];
  const highest = Math.max(least, ...days.map(({ values }) => sum(values, up)), ...lines);
  const lowest = Math.min(0, ...days.map(({ values }) => -sum(values, down)), ...lines);
  const steps = stepsOf(lowest, highest);
  const [low, high] = [steps[0], steps[steps.length - 1]];
  const inner = width - EDGE.left - EDGE.right;
  const room = inner / Math.max(1, days.length);
  const y = (value) => EDGE.top + ((high - value) / (high - low)) * (HEIGHT - EDGE.top - EDGE.bottom);
  const middle = (at) => EDGE.left + (at + 0.5) * room;
  const place = (pixel) => Math.max(0, Math.min(days.length - 1, Math.floor((pixel - EDGE.left) / room)));
  const parts = [...up, ...down, ...(line ? [line] : [])];
  const dayText = (at) => `${dayOf(days[at].day)}: ${parts.map(({ key, name }) => `${name} ${words(days[at].values[key])}`).join(", ")}`;
  const path = days.map(({ values }, at) => line && `${middle(at).toFixed(1)},${y(values[line.key]).toFixed(1)}`).join("L");
  return html`<figure class="chart" ref=${ref}>
    <${Walkable} count=${days.length} label=${`${caption}.`} place=${place} words=${dayText}
      hint="Point at the chart, or focus it and use the arrow keys, to read a day.">
      ${(chosen) => html`<svg width=${width} height=${HEIGHT} viewBox=${`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
        ${
          chosen >= 0 &&
          html`<rect class="band" x=${EDGE.left + chosen * room} y=${EDGE.top} width=${room}
          height=${HEIGHT - EDGE.top - EDGE.bottom} />`
        }
        <${Grid} steps=${steps} y=${y} left=${EDGE.left} right=${width - EDGE.right} words=${ticks} />
        ${days.map(({ day, values }, at) =>
          [...pile(values, up, 1), ...pile(values, down, -1)].map(
            ({ key, fill, top, bottom }) => html`<rect key=${day + key} class="bar" x=${middle(at) - bar(room) / 2} width=${bar(room)}
              y=${y(top)} height=${Math.max(0, y(bottom) - y(top))} fill=${fill} />`,
          ),
        )}
        ${line && html`<path class="line-under" d=${`M${path}`} /><path class="line" d=${`M${path}`} />`}
        ${spread(days.length, Math.floor(inner / 70)).map(
          (
            at,
          ) => html`<text key=${at} class="tick" x=${middle(at)} y=${HEIGHT - 6} text-anchor=${middle(at) + 22 > width ? "end" : "middle"}>
            ${dayOf(days[at].day)}
          </text>`,
        )}
      </svg>`}
    <//>
    <${DataTable} caption=${caption} head=${["Day", ...parts.map(({ name }) => name)]}
      rows=${() => days.map(({ day, values }) => [dayOf(day), ...parts.map(({ key }) => words(values[key]))])} />
  </figure>`;
}

const bar = (room) => Math.max(2, Math.min(26, room - 3));

/** [{key, fill, bottom, top}]: the pieces of one day's pile, away from zero. */
function pile(values, parts, sign) {
  let at = 0;
  return parts.map(({ key, fill }) => {
    const from = at;
    at += values[key];
    return sign > 0 ? { key, fill, bottom: from, top: at } : { key, fill, bottom: -at, top: -from };
  });
}

/** rows: [{name, title, parts: [[amount, fill]], words}]: a bar for each, as long as its amount. */
export function NamedBars({ rows, label }) {
  const most = Math.max(1e-6, ...rows.map(({ parts }) => parts.reduce((sum, [amount]) => sum + amount, 0)));
  return html`<ul class="named-bars" aria-label=${label}>
    ${rows.map(({ name, title, parts, words }) => {
      let at = 0;
      return html`<li key=${title ?? name}>
        <span class="named-bar-name" title=${title}>${name}</span>
        <svg class="named-bar" aria-hidden="true">
          ${parts.map(([amount, fill], number) => {
            const from = at;
            at += (amount / most) * 100;
            return html`<rect key=${number} x=${`${from}%`} width=${`${Math.max(amount > 0 ? 0.5 : 0, at - from)}%`} height="100%"
              fill=${fill} />`;
          })}
        </svg>
        <span class="named-bar-words figure">${words}</span>
      </li>`;
    })}
  </ul>`;
}
