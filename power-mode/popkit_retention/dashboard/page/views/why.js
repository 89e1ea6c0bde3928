// Beside the timeline: why a result has its tier, what ended it, whether a clear takes it, and what can be done about it.

import { html, useEffect, useRef } from "../vendor/preact-htm.js";
import { useAnswer } from "../answers.js";
import { OperationButtons, offeredAt, showContent } from "../parts/operations.js";
import { Answered } from "../parts/states.js";

const ASIDE = 10; // columns of the left column of `why`

/** [[name, words]] out of the lines of `why`, which are wrapped for a terminal; without title and rule. */
export function pairs(lines) {
  const found = [];
  for (const line of lines.filter((each) => each.trim() && !/^─+$/.test(each))) {
    const [name, words] = [line.slice(0, ASIDE).trim(), line.slice(ASIDE).trim()];
    const last = found[found.length - 1];
    if (/^(Its id: |T\d+ )/.test(line)) found.push(["", line.trim()]);
    else if (name && line[0] !== " ") found.push([name, words]);
    else if (last) last[1] += ` ${line.trim()}`;
  }
  return found;
}

export function Why({ number, base, operations, close }) {
  const path = `${base}/results/${number}`;
  const answer = useAnswer(path);
  const head = useRef(null);
  useEffect(() => head.current.focus({ preventScroll: false }), []);
  const escape = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  };
  return html`<aside class="why" aria-labelledby="why-title" onKeyDown=${escape}>
    <div class="why-head">
      <h3 id="why-title" ref=${head} tabindex="-1">Why T${number}</h3>
      <button type="button" class="button button-quiet" onClick=${close}>Close</button>
    </div>
    <${Answered} answer=${answer} what="the reasons" lines=${6}>
      ${({ row, why, operations: offered, handle }) => html`
        <p class="why-label">${row.label}${row.error ? " (fail)" : ""}</p>
        <dl class="why-lines">
          ${pairs(why)
            .filter(([name]) => name)
            .map(([name, words]) => html`<div key=${name + words}><dt>${name}</dt><dd>${words}</dd></div>`)}
        </dl>
        <${OperationButtons} operations=${offered} where=${{ ...operations, offers: offeredAt(path) }}>
          ${
            handle &&
            html`<button type="button" class="button" onClick=${() => showContent(`${base}/content/${encodeURIComponent(handle)}`)}>
            Show all of it
          </button>`
          }
        <//>`}
    <//>
  </aside>`;
}
