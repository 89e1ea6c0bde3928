// Stacked areas over the requests of a session. Every request has the same width, so that a break does not squeeze the work around it.

import { html } from "../vendor/preact-htm.js";
import { clock, moment, tokens } from "../format.js";
import { DataTable, Grid, spread, stepsOf, useWidth, Walkable } from "./frame.js";

const HEIGHT = 240;
const LETTER = 7.2; // the width of one in the words of a mark, at most
const EDGE = { left: 48, right: 10, top: 22, bottom: 24 };

/** points: [{at, request, values: {key: tokens}}] · parts: [{key, name, fill}] from below · marks: [{at, words}] */
export function Areas({ points, parts, marks, caption }) {
  const [ref, width] = useWidth();
  const sums = points.map(({ values }) => parts.reduce((sum, { key }) => sum + values[key], 0));
  const steps = stepsOf(0, Math.max(1, ...sums));
  const high = steps[steps.length - 1];
  const inner = width - EDGE.left - EDGE.right;
  const x = (at) => EDGE.left + (points.length > 1 ? (at / (points.length - 1)) * inner : inner / 2);
  const y = (value) => HEIGHT - EDGE.bottom - (value / high) * (HEIGHT - EDGE.top - EDGE.bottom);
  const place = (pixel) => Math.max(0, Math.min(points.length - 1, Math.round(((pixel - EDGE.left) / inner) * (points.length - 1))));
  const isFirstOfMinute = (at, number, all) => !number || clock(points[at].at) !== clock(points[all[number - 1]].at);
  const words = (at) =>
    `Request ${points[at].request}, ${moment(points[at].at)}: ${tokens(sums[at])} in all. ` +
    [...parts]
      .reverse()
      .filter(({ key }) => points[at].values[key] > 0)
      .map(({ key, name }) => `${name} ${tokens(points[at].values[key])}`)
      .join(", ");
  return html`<figure class="chart" ref=${ref}>
    <${Walkable} count=${points.length} label=${`${caption}.`} place=${place} words=${words}
      hint="Point at the chart, or focus it and use the arrow keys, to read its figures.">
      ${(chosen) => html`<svg width=${width} height=${HEIGHT} viewBox=${`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
        <${Grid} steps=${steps} y=${y} left=${EDGE.left} right=${width - EDGE.right} words=${tokens} />
        ${stack(points, parts, x, y)}
        ${spread(points.length, Math.floor(inner / 90)).filter(isFirstOfMinute).map(
          (at) => html`<text key=${at} class="tick" x=${x(at)} y=${HEIGHT - 6} text-anchor=${at === points.length - 1 ? "end" : "middle"}>
            ${clock(points[at].at)}
          </text>`,
        )}
        ${labelled(
          marks.map(({ at, words }) => ({ at: x(placeOf(points, at)), words })),
          width,
        ).map((mark, number) => html`<${Mark} key=${number} ...${mark} />`)}
        ${chosen >= 0 && html`<line class="cursor" x1=${x(chosen)} x2=${x(chosen)} y1=${EDGE.top - 8} y2=${HEIGHT - EDGE.bottom} />`}
      </svg>`}
    <//>
    <${DataTable} caption=${caption} head=${["Request", "Time", "In all", ...parts.map(({ name }) => name)]}
      rows=${() =>
        points.map((point, at) => [
          String(point.request),
          moment(point.at),
          tokens(sums[at]),
          ...parts.map(({ key }) => tokens(point.values[key])),
        ])} />
  </figure>`;
}

/** The areas, from below; each with an edge in the colour of the ground, so that neighbours are told apart by more than colour. */
function stack(points, parts, x, y) {
  if (points.length === 1) points = [points[0], points[0]];
  const floor = points.map(() => 0);
  return parts.map(({ key, fill }) => {
    const bottom = points.map((_, at) => `${x(at).toFixed(1)},${y(floor[at]).toFixed(1)}`).reverse();
    points.forEach(({ values }, at) => (floor[at] += values[key]));
    const top = points.map((_, at) => `${x(at).toFixed(1)},${y(floor[at]).toFixed(1)}`);
    if (top.join() === [...bottom].reverse().join()) return null;
    return html`<path key=${key} class="area" d=${`M${top.join("L")}L${bottom.join("L")}Z`} fill=${fill} />`;
  });
}

/** Between which requests something happened, as a place on the axis. */
function placeOf(points, at) {
  const next = points.findIndex((point) => point.at >= at);
  return next < 0 ? points.length - 1 : next === 0 ? 0 : points[next].at === at ? next : next - 0.5;
}

/** Marks with the side on which their words have room beside other words; with none, only the line is drawn. */
export function labelled(marks, width) {
  let taken = 0;
  return marks.map(({ at, words }, number) => {
    const wide = words.length * LETTER + 8;
    const [before, behind] = [at - wide >= taken, at >= taken && at + wide <= width];
    const alone = at + wide <= (marks[number + 1]?.at ?? width);
    const side = behind && (alone || !before) ? "start" : before ? "end" : "";
    if (side) taken = side === "start" ? at + wide : at;
    return { at, words, side };
  });
}

function Mark({ at, words, side }) {
  return html`<g class="mark">
    <line x1=${at} x2=${at} y1=${EDGE.top - 8} y2=${HEIGHT - EDGE.bottom} />
    ${side && html`<text x=${at + (side === "end" ? -4 : 4)} y="12" text-anchor=${side}>${words}</text>`}
  </g>`;
}
