// The list of sessions, and beside it the one that is looked at.

import { html, useEffect, useMemo, useState } from "../vendor/preact-htm.js";
import { renew, useAnswer } from "../answers.js";
import { query } from "../api.js";
import { baseName, counted, elsewhere, percent, titleOf, whole } from "../format.js";
import { useTurns } from "../live.js";
import { Cache, fillWords, Meter } from "../parts/fill.js";
import { Answered, Empty } from "../parts/states.js";
import { Ago } from "../parts/when.js";
import { toSession, useTitle } from "../route.js";
import { Session } from "./session.js";

const PAGE = 100;
const TYPING_MS = 200;

const pathOf = (asked, page) => query("/api/sessions", { ...asked, limit: PAGE, offset: page * PAGE });

export function Sessions({ id }) {
  const [asked, ask] = useState({ q: "", project: "", running: false });
  return html`<div class=${id ? "sessions has-session" : "sessions"}>
    <${List} asked=${asked} ask=${ask} chosen=${id} />
    ${id && html`<${Session} key=${id} id=${id} />`}
  </div>`;
}

function List({ asked, ask, chosen }) {
  const [pages, more] = useState(1);
  const first = useAnswer(pathOf(asked, 0));
  const running = first.data?.running ?? 0;
  useTitle(...(chosen ? [] : [running ? `${running} running` : "", "Sessions"]));
  const change = (changes) => {
    more(1);
    ask((before) => ({ ...before, ...changes })); // what is typed comes later than what is chosen
  };
  return html`<section class="list" aria-labelledby="list-title">
    <div class="view-head">
      <h1 id="list-title" tabindex="-1">Sessions</h1>
      ${first.data && html`<p class="note">${whole(first.data.total)} in all, ${whole(running)} running</p>`}
    </div>
    <${Filters} asked=${asked} change=${change} projects=${first.data?.projects ?? []} />
    <${Answered} answer=${first} what="the sessions" lines=${12}>
      ${(data) =>
        data.total
          ? html`<${Rows} asked=${asked} pages=${pages} data=${data} chosen=${chosen} />`
          : html`<${None} asked=${asked} />`}
    <//>
    ${
      first.data &&
      first.data.total > pages * PAGE &&
      html`<button type="button" class="button more" onClick=${() => more(pages + 1)}>
      Show ${whole(Math.min(PAGE, first.data.total - pages * PAGE))} more
    </button>`
    }
  </section>`;
}

function Filters({ asked, change, projects }) {
  const [typed, type] = useState(asked.q);
  useEffect(() => {
    const timer = setTimeout(() => typed !== asked.q && change({ q: typed }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return html`<form class="filters" role="search" aria-label="Sessions" onSubmit=${(event) => event.preventDefault()}>
    <input type="search" aria-label="Search by words, project or id" placeholder="Search" value=${typed}
      onInput=${(event) => type(event.target.value)} />
    <select aria-label="Project" value=${asked.project} onChange=${(event) => change({ project: event.target.value })}>
      <option value="">All projects</option>
      ${projects.map((path) => html`<option key=${path} value=${path}>${baseName(path)}</option>`)}
    </select>
    <label class="check">
      <input type="checkbox" checked=${asked.running} onChange=${(event) => change({ running: event.target.checked })} /> Running only
    </label>
  </form>`;
}

function None({ asked }) {
  if (asked.q || asked.project || asked.running)
    return html`<${Empty} title="No matching sessions">Try fewer words, or choose All projects.<//>`;
  return html`<${Empty} title="No sessions yet">
    Start Claude Code in a project. Its session appears here with its first tool call.
  <//>`;
}

function Rows({ asked, pages, data, chosen }) {
  const walk = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const links = step ? [...event.currentTarget.querySelectorAll("a")] : [];
    const next = links[links.indexOf(document.activeElement) + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
  };
  return html`<ol class="rows" onKeyDown=${walk} aria-label=${`${counted(data.total, "session")}, running ones first`}>
    ${Array.from({ length: pages }, (_, at) => html`<${Page} key=${at} path=${pathOf(asked, at)} chosen=${chosen} />`)}
  </ol>`;
}

function Page({ path, chosen }) {
  const rows = useAnswer(path).data?.sessions ?? [];
  useTurns(rows, () => renew(path));
  return rows.map((row) => html`<${Row} key=${row.id} row=${row} chosen=${row.id === chosen} />`);
}

function Row({ row, chosen }) {
  // Drawn anew only when something of the row changed: the list may be long.
  return useMemo(
    () => html`<li class=${`row ${row.running ? "row-running" : ""}`}>
    <a href=${toSession(row.id)} aria-current=${chosen ? "page" : null}>
      <span class="row-title">
        <span class=${row.running ? "dot dot-running" : "dot"} aria-hidden="true"></span>
        <span class="row-words" title=${titleOf(row)}>${titleOf(row)}</span>
      </span>
      <span class="row-project" title=${row.project}>
        ${[baseName(row.project), elsewhere(row), row.shared && "team database"].filter(Boolean).join(" · ")}
      </span>
      ${
        row.context
          ? html`<span class="row-fill"><${Meter} ratio=${row.context.ratio} label=${fillWords(row.context)} />
            <span class="figure">${percent(row.context.ratio)}</span></span>`
          : html`<span class="row-fill"></span>`
      }
      <span class=${`row-verdict ${row.verdict ? `verdict-${row.verdict.kind}` : ""}`}>${row.verdict?.words ?? ""}</span>
      <span class="row-when">
        ${
          row.running
            ? html`<span class="badge badge-running">Running</span>${row.context && html`<${Cache} fill=${row.context} short />`}`
            : html`<${Ago} at=${row.changed_at} />`
        }
      </span>
    </a>
  </li>`,
    [JSON.stringify(row), chosen],
  );
}
