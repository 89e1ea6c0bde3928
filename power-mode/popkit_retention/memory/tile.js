// What past sessions taught: by memory tier, what goes soon, each item with what comes next, and MEMORY.md as it would be.

import { html, useEffect, useState } from "/vendor/preact-htm.js";
import { useAnswer } from "/answers.js";
import { get, query } from "/api.js";
import { capital, counted, percent, quoted, tokens, whole } from "/format.js";
import { OperationButtons, place } from "/parts/operations.js";
import { Meter } from "/parts/fill.js";
import { Answered, Card, Choice, Empty, More } from "/parts/states.js";
import { Ago } from "/parts/when.js";
import { useTitle } from "/route.js";

const PAGE = 50;
const MOST = 500; // that the server tells at once
const TYPING_MS = 200;
const MEMORY_TIERS = ["HOT", "WARM", "COLD", "ARCHIVE"];

const toMemory = (project) => `#/memory/${encodeURIComponent(project)}`;

export default function Memory({ id }) {
  const answer = useAnswer("/api/memory/projects");
  useTitle("Memory");
  return html`<div class="view">
    <div class="view-head"><h1 tabindex="-1">Memory</h1></div>
    <${Answered} answer=${answer} what="the memories" lines=${10}>
      ${({ projects }) => {
        if (!projects.length) {
          return html`<${Empty} title="Nothing is remembered yet">
            Memory is off until you switch it on in a project: <code>popkit memory on</code>
          <//>`;
        }
        const chosen = projects.find(({ project }) => project === id) ?? projects.find(({ on }) => on) ?? projects[0];
        return html`<${Projects} projects=${projects} chosen=${chosen} /><${Project} key=${chosen.project} project=${chosen.project} />`;
      }}
    <//>
  </div>`;
}

function Projects({ projects, chosen }) {
  return html`<label class="field field-inline">Project
    <select value=${chosen.project} onChange=${(event) => (location.hash = toMemory(event.target.value))}>
      ${projects.map(
        ({ project, name, on, items }) => html`<option key=${project} value=${project}>
        ${name} (${on ? counted(items, "item") : "off"})
      </option>`,
      )}
    </select>
  </label>`;
}

function Project({ project }) {
  const [typed, type] = useState("");
  const [asked, ask] = useState({ q: "", tier: "", limit: PAGE });
  useEffect(() => {
    const timer = setTimeout(() => ask((before) => ({ ...before, q: typed, limit: typed === before.q ? before.limit : PAGE })), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const answer = useAnswer(query("/api/memory", { project, ...asked }));
  return html`<${Answered} answer=${answer} what="the memory" lines=${10}>
    ${(shown) => html`<div class="cards">
      <${Overview} shown=${shown} />
      <${Document} shown=${shown} />
      <${Card} title="Items" id="items" wide>
        <form class="filters" role="search" aria-label="Items" onSubmit=${(event) => event.preventDefault()}>
          <input type="search" aria-label="Search the items" placeholder="Search" value=${typed}
            onInput=${(event) => type(event.target.value)} />
          <${Choice} label="Memory tier" chosen=${asked.tier} choose=${(tier) => ask((before) => ({ ...before, tier, limit: PAGE }))}
            options=${[["", "All"], ...MEMORY_TIERS.map((tier) => [tier, capital(tier.toLowerCase())])]} />
        </form>
        ${
          shown.items.length
            ? html`<ul class="items">${shown.items.map((item) => html`<${Item} key=${item.id} item=${item} project=${project} />`)}</ul>`
            : html`<${Empty} title=${asked.q || asked.tier ? "No matching items" : "Nothing is remembered about this project yet"}>
              ${
                asked.q || asked.tier
                  ? "Try fewer words, or choose All."
                  : html`To learn from past sessions: <code>popkit memory admin learn --past</code>`
              }
            <//>`
        }
        <${More} shown=${shown.items.length} total=${shown.total} limit=${asked.limit} step=${PAGE} most=${MOST}
          ask=${(limit) => ask({ ...asked, limit })} rest=${listCommand(shown.folder, asked.tier)} />
      <//>
    </div>`}
  <//>`;
}

/** The command that lists all of what is shown here. */
const listCommand = (folder, tier) =>
  ["popkit memory list --all", tier && `--tier ${tier.toLowerCase()}`, folder && `--project ${quoted(folder)}`].filter(Boolean).join(" ");

function Overview({ shown }) {
  return html`<${Card} title="By tier" id="tiers"
    note=${shown.on ? null : "Memory is off: sessions of this project teach nothing and get no MEMORY.md."}>
    ${
      shown.alerts.length > 0 &&
      html`<ul class="alerts" aria-label="Items that will be deleted soon">${shown.alerts.map(
        (words) => html`<li
      key=${words}>${words}</li>`,
      )}</ul>`
    }
    <table class="plain">
      <thead><tr><th scope="col">Memory tier</th><th scope="col">Items</th><th scope="col">Tokens</th></tr></thead>
      <tbody>
        ${shown.tiers.map(
          ({ tier, items, tokens: sum }) => html`<tr key=${tier}>
          <th scope="row"><${TierBadge} tier=${tier} /></th><td>${whole(items)}</td><td>${tokens(sum)}</td>
        </tr>`,
        )}
      </tbody>
    </table>
    <${Figures} heads=${["Compressed to", "Items", "Tokens each", "Score"]}
      rows=${shown.levels.map((at) => [capital(at.level), whole(at.items), at.mean_tokens.toFixed(1), at.mean_score.toFixed(2)])} />
    <${Figures} heads=${["Due to leave Hot", "Score", "Retrieved"]} rows=${shown.demotion.map(candidate)} />
    <${Figures} heads=${["Archive would take", "Score", "Retrieved"]} rows=${shown.archive.map(candidate)} />
  <//>`;
}

const candidate = ({ text, score, accesses }) => [text, score.toFixed(2), counted(accesses, "time")];

/** A table whose rows begin with what they are about; nothing where there are none. */
function Figures({ heads, rows }) {
  if (!rows.length) return null;
  return html`<table class="plain log">
    <thead><tr>${heads.map((head) => html`<th key=${head} scope="col">${head}</th>`)}</tr></thead>
    <tbody>
      ${rows.map(
        ([about, ...figures], at) => html`<tr key=${at}>
        <th scope="row" class="log-words">${about}</th>${figures.map((each, column) => html`<td key=${column}>${each}</td>`)}
      </tr>`,
      )}
    </tbody>
  </table>`;
}

const TierBadge = ({ tier }) => html`<span class=${`badge badge-${tier.toLowerCase()}`}>${capital(tier.toLowerCase())}</span>`;

function Document({ shown }) {
  const ratio = shown.document_most ? shown.document_tokens / shown.document_most : 0;
  const words = `${tokens(shown.document_tokens)} of at most ${tokens(shown.document_most)} tokens (${percent(ratio)})`;
  return html`<${Card} title="MEMORY.md as it would be now" id="document">
    ${
      shown.document
        ? html`<${Meter} ratio=${ratio} label=${words} level="" /><p class="note">${words}</p>
          <pre class="document" tabindex="0" aria-label="MEMORY.md">${shown.document}</pre>`
        : html`<p class="note">It would be empty.</p>`
    }
  <//>`;
}

function Item({ item, project }) {
  const offers = async () => {
    const { items } = await get(query("/api/memory", { project, limit: MOST }));
    return items.find(({ id }) => id === item.id)?.operations ?? [];
  };
  const where = place("/api/memory/operations", { body: { project }, touches: ["/api/memory", "/api/retention"], offers });
  return html`<li class="item">
    <p class="item-head">
      <${TierBadge} tier=${item.tier} /> <span class="note">${item.kind}</span>
      ${item.waits && html`<span class="badge badge-warn">Said by an agent, waits for your approval</span>`}
      ${item.pinned && html`<span class="badge">Pinned</span>`}${
        item.marked &&
        html`<span
        class="badge badge-warn">Marked for deletion</span>`
      }
    </p>
    <p class="item-text">${item.text}</p>
    <${OperationButtons} operations=${item.operations} where=${where} />
    <p class="note">${item.next}${item.next && " · "}written <${Ago} at=${item.written_at} />, last
      used <${Ago} at=${item.accessed_at} /></p>
    <details class="data">
      <summary>Why<span class="unseen"> this item is in its tier</span></summary>
      <dl class="figures">
        <div class="figure-row"><dt>Score</dt><dd class="figure">${item.score.toFixed(2)}</dd></div>
        <div class="figure-row"><dt>Chance that it is remembered</dt><dd class="figure">${percent(item.retention)}</dd></div>
        <div class="figure-row"><dt>Id</dt><dd class="id">${item.id}</dd></div>
      </dl>
    </details>
  </li>`;
}
