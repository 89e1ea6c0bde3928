// What PopKit has done, in four quantities: kept out and cleared in tokens, cost and net in money; by day, by project, by cause.

import { html, useState } from "/vendor/preact-htm.js";
import { useAnswer } from "/answers.js";
import { query } from "/api.js";
import { DayBars, NamedBars } from "/charts/bars.js";
import { DataTable } from "/charts/frame.js";
import { baseName, capital, counted, longTokens, money, whole } from "/format.js";
import { fillOf, Legend, LINE } from "/palette.js";
import { Answered, Card, Choice, Empty } from "/parts/states.js";
import { useTitle } from "/route.js";

const SAVED = { key: "saved_usd", name: "Saved", fill: fillOf("medium") };
const COST = { key: "cost_usd", name: "Cost", fill: fillOf("ephemeral") };
const NET = { key: "net_usd", name: "Net" };
const CENT = 0.01;

export default function Stats() {
  const [days, choose] = useState("30");
  const answer = useAnswer(query("/api/stats", { days }));
  useTitle("Stats");
  return html`<div class="view">
    <div class="view-head"><h1 tabindex="-1">Stats</h1><p class="note">What PopKit kept out, cleared and cost, and what is left</p></div>
    <${Answered} answer=${answer} what="the stats" lines=${10}>
      ${(data) => html`<p class="headline">${data.headline}</p>
        <div class="cards">
          <${Days} days=${data.days} chosen=${days} choose=${choose} />
          <${Projects} projects=${data.projects} />
          <${Causes} data=${data} />
          ${
            data.lines.length > 0 &&
            html`<${Card} title="In words" id="words" wide>
            <pre tabindex="0" aria-label="What popkit context stats says">${data.lines.join("\n").trim()}</pre>
          <//>`
          }
        </div>`}
    <//>
  </div>`;
}

// A day or project without a price has no bar.
const amounts = ({ saved_usd: saved, cost_usd: cost, net_usd: net }) => ({ saved_usd: saved ?? 0, cost_usd: cost ?? 0, net_usd: net ?? 0 });

function Days({ days, chosen, choose }) {
  const tools = html`<${Choice} label="How far back" chosen=${chosen} choose=${choose} options=${[
    ["7", "7 days"],
    ["30", "30 days"],
    ["90", "90 days"],
  ]} />`;
  const any = days.some(({ saved_usd: saved, cost_usd: cost }) => saved || cost);
  return html`<${Card} title="By day" id="days" wide tools=${tools}>
    ${
      any
        ? html`<${Legend} items=${[
            [SAVED.name, SAVED.fill],
            [COST.name, COST.fill],
            [NET.name, LINE],
          ]} />
          <${DayBars} days=${days.map((day) => ({ day: day.day, values: amounts(day) }))} up=${[SAVED]} down=${[COST]} line=${NET}
            words=${(dollars) => money(dollars)} ticks=${(dollars) => money(dollars)} least=${CENT}
            caption="API-equivalent dollars saved and spent, by day" />`
        : html`<${Empty} title="PopKit has saved and cost nothing yet">Figures appear once results have been kept out or cleared.<//>`
    }
  <//>`;
}

function Projects({ projects }) {
  const rows = projects.map(({ project, sessions, figures }) => ({
    name: baseName(project),
    title: project,
    parts: [
      [figures.saved_usd ?? 0, SAVED.fill],
      [figures.cost_usd ?? 0, COST.fill],
    ],
    words: `net ${money(figures.net_usd, true)} in ${counted(sessions, "session")}`,
  }));
  const cells = ({ project, sessions, figures }) => [
    project,
    whole(sessions),
    figures.kept_out_tokens ? longTokens(figures.kept_out_tokens) : "0 tokens",
    `${whole(figures.cleared_tokens)} tokens`,
    money(figures.cost_usd),
    money(figures.net_usd, true),
  ];
  return html`<${Card} title="By project" id="projects">
    ${
      rows.length
        ? html`<${NamedBars} rows=${rows} label="API-equivalent dollars saved and spent, by project" />
          <${DataTable} caption="What PopKit did, by project"
            head=${["Project", "Sessions", "Kept out", "Cleared", "Cost", "Net"]}
            rows=${() => projects.map(cells)} />`
        : html`<p class="note">No project yet.</p>`
    }
  <//>`;
}

function Causes({ data }) {
  const sides = [
    ["saved by", SAVED.fill, data.saved_by_usd, data.gains ?? {}],
    ["cost of", COST.fill, data.cost_by_usd, data.causes ?? {}],
  ];
  const rows = sides.flatMap(([side, fill, dollars, names]) =>
    Object.entries(dollars)
      .filter(([, amount]) => amount > 0)
      .map(([key, amount]) => ({
        name: capital(`${side} ${names[key] ?? key}`),
        title: capital(`${side} ${names[key] ?? key}`),
        parts: [[amount, fill]],
        words: money(amount),
      })),
  );
  return html`<${Card} title="By cause" id="causes">
    ${rows.length ? html`<${NamedBars} rows=${rows} label="API-equivalent dollars by cause" />` : html`<p class="note">Nothing yet.</p>`}
  <//>`;
}
