// What stands where there is no content: still loading, nothing yet, or something wrong.

import { html } from "../vendor/preact-htm.js";
import { whole } from "../format.js";

/** Grey lines in the shape of what is coming. */
export function Skeleton({ lines = 4, what }) {
  return html`<div class="skeleton" role="status">
    <span class="unseen">Loading ${what}</span>
    ${Array.from({ length: lines }, (_, at) => html`<span key=${at} class=${`bone bone-${at % 4}`} aria-hidden="true"></span>`)}
  </div>`;
}

/** Nothing there yet: what would be here, and how it comes. */
export function Empty({ title, children }) {
  return html`<div class="empty">
    <svg viewBox="0 0 64 40" width="64" height="40" aria-hidden="true">
      <rect class="empty-bar" x="1" y="3" width="40" height="8" rx="2" /><rect class="empty-bar" x="12" y="16" width="30" height="8"
        rx="2" />
      <rect class="empty-bar" x="26" y="29" width="37" height="8" rx="2" />
    </svg>
    <p class="empty-title">${title}</p>
    <div class="empty-words">${children}</div>
  </div>`;
}

/** Something is wrong: the server's words say what to do. */
export function Problem({ error, again }) {
  return html`<div class="problem" role="alert">
    <p class="problem-title">Could not load this</p>
    <p>${error.message}</p>
    ${again && html`<button type="button" class="button" onClick=${again}>Try again</button>`}
  </div>`;
}

/** What of an answer can be shown: its content, or why there is none. Known content stays while a newer question fails. */
export function Answered({ answer, what, lines, children }) {
  if (answer.data) {
    // That the server is away says the banner, for everything that is known.
    const wrong = answer.error?.status ? answer.error : null;
    return html`${wrong && html`<${Problem} error=${wrong} again=${answer.again} />`}${children(answer.data)}`;
  }
  if (answer.error) return html`<${Problem} error=${answer.error} again=${answer.again} />`;
  return html`<${Skeleton} what=${what} lines=${lines} />`;
}

/** A part of a view under a heading of its own. */
export function Card({ title, id, note, tools, wide, children }) {
  const heading = `${id}-title`;
  return html`<section class=${wide ? "card card-wide" : "card"} id=${id} aria-labelledby=${heading}>
    <div class="card-head">
      <h2 id=${heading}>${title}</h2>
      ${tools && html`<div class="card-tools">${tools}</div>`}
    </div>
    ${note && html`<p class="note">${note}</p>`}
    ${children}
  </section>`;
}

/** Buttons of which one is chosen. */
export function Choice({ label, options, chosen, choose }) {
  return html`<div class="choice" role="group" aria-label=${label}>
    ${options.map(
      ([id, words]) =>
        html`<button type="button" key=${id} aria-pressed=${String(id === chosen)} onClick=${() => choose(id)}>${words}</button>`,
    )}
  </div>`;
}

/**
 * The way to more of a list that is shown in part: a button that asks for `step` more, up to the `most` that the server tells at once;
 * there, the command that shows the `rest`. `limit`: what was asked for.
 */
export function More({ shown, total, limit, step, most, ask, rest }) {
  if (total <= shown) return null;
  if (shown >= most)
    return html`<p class="note">The first ${whole(shown)} of ${whole(total)} are shown. To see all: <code>${rest}</code></p>`;
  if (shown < limit) return null; // the next ones are asked for already
  return html`<button type="button" class="button more" onClick=${() => ask(Math.min(limit + step, most))}>
    Show ${whole(Math.min(step, most - shown, total - shown))} more: ${whole(shown)} of ${whole(total)} are shown
  </button>`;
}
