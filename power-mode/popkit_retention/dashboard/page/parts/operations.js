// What can be done: a button asks, a dialog shows the sum, and a status message says what came of it.

import { html, useLayoutEffect, useRef } from "../vendor/preact-htm.js";
import { renew } from "../answers.js";
import { get, post } from "../api.js";
import { sentence } from "../format.js";
import { News, useNews } from "../news.js";
import { afterIt, toHeading } from "./focus.js";

let shown = { asking: null, notice: null, content: null };
const news = new News();

function show(changes) {
  shown = { ...shown, ...changes };
  news.tell();
}

function useShown() {
  useNews(news);
  return shown;
}

/** Says something in the status region. `again`: an operation that takes it back, with its place. What is said. */
export function say(text, { failed = false, again = null } = {}) {
  show({ notice: { text, failed, again } });
  return shown.notice;
}

/**
 * Where operations of a part go. `path`: what takes them · `body`: what goes with the id · `touches`: what is requested again ·
 * `offers`: () -> the operations that there are afterwards, among them the one that takes it back.
 */
export const place = (path, { body = {}, touches, offers = null }) => ({ path, body, touches, offers });

/** What an answer with operations offers. */
export const offeredAt = (path) => async () => (await get(path)).operations;

const wordOf = ({ id }) => id.split(" ")[0];

// What the user has to say besides.
const FIELDS = { hold: [{ name: "why", label: "Why it is held", needed: true }] };
// What takes an operation back, as the words of operations go.
const OPPOSITES = {
  clear: "undo",
  pin: "unpin",
  unpin: "pin",
  hold: "release",
  release: "hold",
  forget: "undo",
  promote: "demote",
  demote: "promote",
};

/** Opens the dialog about an operation. `from`: the button that was pressed. */
const ask = (operation, where) => {
  const fields = FIELDS[wordOf(operation)] ?? [];
  show({ asking: { operation, where, from: document.activeElement, fields } });
};

async function wayBack(operation, where) {
  const back = OPPOSITES[wordOf(operation)];
  if (!back || !where.offers) return null;
  try {
    const found = (await where.offers()).find((each) => wordOf(each) === back);
    return found ? { operation: found, where } : null;
  } catch {
    return null; // the operation is done all the same
  }
}

async function posted({ operation, where }, fields) {
  try {
    const { done, text } = await post(where.path, { ...where.body, ...fields, id: operation.id });
    return { done, text: text || (done ? `${operation.label}: done` : `${operation.label}: nothing was done`) };
  } catch (error) {
    return { done: false, text: error.message };
  }
}

async function carryOut(asking, fields) {
  const mine = { ...asking, busy: true };
  show({ asking: mine });
  const { done, text } = await posted(mine, fields);
  // Meanwhile another dialog may have been opened, and another message said.
  if (shown.asking === mine) show({ asking: null });
  const notice = say(text, { failed: !done });
  mine.where.touches.forEach(renew); // of an operation that is refused, too: what offered it is old
  afterIt(mine.from);
  const again = done ? await wayBack(mine.operation, mine.where) : null;
  if (again && shown.notice === notice) show({ notice: { ...notice, again } });
}

/** A button for each operation. */
export function OperationButtons({ operations, where, strong = "", children }) {
  return html`<div class="operations">
    ${operations.map(
      (operation) =>
        html`<button
          type="button"
          key=${operation.id}
          class=${`button ${wordOf(operation) === strong ? "button-strong" : operation.danger ? "button-danger" : ""}`}
          onClick=${() => ask(operation, where)}
        >
          ${operation.label}
        </button>`,
    )}
    ${children}
  </div>`;
}

/** A dialog of the browser's own: it keeps the focus, and Escape closes it, unless it is `busy`. */
export function Dialog({ open, close, busy = false, label, children }) {
  const box = useRef(null);
  // The browser tells of a close later than it closes: who has pressed the button again by then finds it open again.
  useLayoutEffect(() => {
    if (open && !box.current.open) box.current.showModal();
    if (!open && box.current.open) box.current.close();
  });
  return html`<dialog
    ref=${box}
    aria-labelledby=${label}
    onClose=${() => !box.current.open && close()}
    onCancel=${(event) => (busy ? event.preventDefault() : close())}
    onClick=${(event) => event.target === box.current && !busy && close()}
  >
    ${open && children}
  </dialog>`;
}

function Confirm({ asking }) {
  const busy = asking?.busy;
  const close = () => show({ asking: null });
  const go = (event) => {
    event.preventDefault();
    carryOut(asking, Object.fromEntries(new FormData(event.target)));
  };
  return html`<${Dialog} open=${Boolean(asking)} close=${close} busy=${busy} label="confirm-title">
    ${
      asking &&
      html`<form class="confirm" onSubmit=${go}>
      <h2 id="confirm-title">${asking.operation.label}</h2>
      <p class="sum">${sentence(asking.operation.sum)}</p>
      ${asking.fields.map(
        ({ name, label, needed }) =>
          html`<label class="field" key=${name}
            >${label}<input name=${name} required=${needed} maxlength="400" autocomplete="off" />
          </label>`,
      )}
      <div class="confirm-buttons">
        <button type="button" class="button" onClick=${close} disabled=${busy}>Cancel</button>
        <button
          type="submit"
          class=${`button ${asking.operation.danger ? "button-danger button-filled" : "button-strong"}`}
          disabled=${busy}
        >
          ${busy ? "Working…" : asking.operation.label}
        </button>
      </div>
    </form>`
    }
  <//>`;
}

/** Shows an archived content. */
export async function showContent(path) {
  try {
    show({ content: await get(path) });
  } catch (error) {
    say(error.message, { failed: true });
  }
}

function ContentDialog({ content }) {
  const close = () => show({ content: null });
  return html`<${Dialog} open=${Boolean(content)} close=${close} label="content-title">
    ${
      content &&
      html`<div class="content">
      <h2 id="content-title">${content.label || content.handle}</h2>
      <pre tabindex="0" aria-label="The content">${content.text}</pre>
      ${
        content.truncated > 0 &&
        html`<p class="note">${content.truncated.toLocaleString("en-US")} more characters: popkit restore ${content.handle}</p>`
      }
      <div class="confirm-buttons"><button type="button" class="button button-strong" onClick=${close}>Close</button></div>
    </div>`
    }
  <//>`;
}

/** A text as the terminal has it: its title is told by a line below it, and its columns need letters of one width. */
function Told({ text }) {
  const [title, rule, ...rest] = text.trim().split("\n");
  if (!/^─+$/.test(rule ?? "")) return html`<p>${text.trim()}</p>`;
  return html`<p class="notice-title">${title}</p>
    ${rest.length > 0 && html`<pre class="notice-lines" tabindex="0" aria-label=${title}>${rest.join("\n")}</pre>`}`;
}

function dismiss() {
  toHeading();
  show({ notice: null });
}

function Notice({ notice }) {
  return html`<div class=${notice.failed ? "notice notice-failed" : "notice"}>
    <div class="notice-told"><${Told} text=${notice.text} /></div>
    <div class="operations">
      ${
        notice.again &&
        html`<button type="button" class="button" onClick=${() => ask(notice.again.operation, notice.again.where)}>
        ${notice.again.operation.label}
      </button>`
      }
      <button type="button" class="button" onClick=${dismiss}>Dismiss</button>
    </div>
  </div>`;
}

/** The dialogs and the status region; once on the page. */
export function Operations() {
  const { asking, notice, content } = useShown();
  return html`<${Confirm} asking=${asking} />
    <${ContentDialog} content=${content} />
    <div class="notices" role="status" aria-live="polite">${notice && html`<${Notice} notice=${notice} />`}</div>`;
}
