// What the newest compaction of a session lost, in one list with the way back of each row.

import { html, useState } from "../vendor/preact-htm.js";
import { useAnswer } from "../answers.js";
import { Answered } from "../parts/states.js";

/** What the newest compaction lost: read only when somebody opens it. */
export function Lost({ base }) {
  const [open, set] = useState(false);
  return html`<details class="card card-wide panel" onToggle=${(event) => set(event.target.open)}>
    <summary>What the last compaction lost</summary>
    ${open && html`<${LostRows} base=${base} />`}
  </details>`;
}

function LostRows({ base }) {
  const answer = useAnswer(`${base}/lost`);
  return html`<${Answered} answer=${answer} what="what was lost" lines=${6}>
    ${({ when, sums, rows }) =>
      when
        ? html`<p>${when}: lost ${sums}.</p>
          ${rows.length > 0 && html`<${LostTable} rows=${rows} />`}`
        : html`<p class="note">This session has not been compacted.</p>`}
  <//>`;
}

function LostTable({ rows }) {
  return html`<p class="note">
      The most likely to be needed comes first. The way back is a line of the transcript, or what popkit restore prints.
    </p>
    <div class="scroll-x" tabindex="0" role="region" aria-label="What was lost"><table class="plain">
      <thead><tr><th scope="col">About</th><th scope="col">Lost</th><th scope="col">Way back</th></tr></thead>
      <tbody>
        ${rows.map(
          ({ about, lost, way }, at) => html`<tr key=${at}><th scope="row">${about}</th><td>${lost}</td><td>${way}</td></tr>`,
        )}
      </tbody>
    </table></div>`;
}
