// What PopKit has saved, net of its costs: by day, by project, by cause.

import { html, useState } from "../vendor/preact-htm.js";
import { useAnswer } from "../answers.js";
import { query } from "../api.js";
import { DayBars, NamedBars } from "../charts/bars.js";
import { DataTable } from "../charts/frame.js";
import { baseName, capital, counted, signed, usd, whole } from "../format.js";
import { useLive } from "../live.js";
import { fillOf, Legend, LINE } from "../palette.js";
import { Answered, Card, Choice, Empty } from "../parts/states.js";
import { useTitle } from "../route.js";

const SAVED = { key: "saved", name: "Saved", fill: fillOf("medium") };
const COST = { key: "cost", name: "Charged", fill: fillOf("ephemeral") };

export function Stats() {
  const { stamps } = useLive();
  const [days, choose] = useState("30");
  const answer = useAnswer(query("/api/stats", { days }), stamps.stats);
  useTitle("Stats");
  return html`<div class="view">
    <div class="view-head"><h1 tabindex="-1">Stats</h1><p class="note">What PopKit has saved, net of its costs, in input tokens</p></div>
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

function Days({ days, chosen, choose }) {
  const tools = html`<${Choice} label="How far back" chosen=${chosen} choose=${choose} options=${[
    ["7", "7 days"],
    ["30", "30 days"],
    ["90", "90 days"],
  ]} />`;
  const any = days.some(({ saved, cost }) => saved || cost);
  return html`<${Card} title="By day" id="days" wide tools=${tools}>
    ${
      any
        ? html`<${Legend} items=${[
            [SAVED.name, SAVED.fill],
            [COST.name, COST.fill],
            ["Net", LINE],
          ]} />
          <${DayBars} days=${days.map((day) => ({ day: day.day, values: day }))} up=${[SAVED]} down=${[COST]}
            line=${{ key: "net", name: "Net" }}
            words=${whole} caption="Input tokens saved and charged, by day" />`
        : html`<${Empty} title="Nothing has been saved or charged yet">Figures appear after the first results have left a context.<//>`
    }
  <//>`;
}

function Projects({ projects }) {
  const rows = projects.map(({ project, saved, cost, net, sessions }) => ({
    name: baseName(project),
    title: project,
    parts: [
      [saved, SAVED.fill],
      [cost, COST.fill],
    ],
    words: `net ${signed(net)} in ${counted(sessions, "session")}`,
  }));
  const cells = ({ project, sessions, saved, cost, net, usd: dollars }) => [
    project,
    whole(sessions),
    whole(saved),
    whole(cost),
    signed(net),
    dollars === null ? "-" : usd(dollars),
  ];
  return html`<${Card} title="By project" id="projects">
    ${
      rows.length
        ? html`<${NamedBars} rows=${rows} label="Input tokens saved and charged, by project" />
          <${DataTable} caption="What PopKit has saved, by project"
            head=${["Project", "Sessions", "Saved", "Charged", "Net", "API-equivalent"]}
            rows=${() => projects.map(cells)} />`
        : html`<p class="note">No project yet.</p>`
    }
  <//>`;
}

function Causes({ data }) {
  const sides = [
    ["saved", SAVED.fill, data.saved_by, data.gains ?? {}],
    ["charged", COST.fill, data.cost_by, data.causes ?? {}],
  ];
  const rows = sides.flatMap(([side, fill, amounts, names]) =>
    Object.entries(amounts)
      .filter(([, amount]) => amount > 0)
      .map(([key, amount]) => ({
        name: capital(names[key] ?? key),
        title: `${capital(names[key] ?? key)}, ${side}`,
        parts: [[amount, fill]],
        words: `${whole(amount)} ${side}`,
      })),
  );
  return html`<${Card} title="By cause" id="causes">
    ${rows.length ? html`<${NamedBars} rows=${rows} label="Input tokens by cause" />` : html`<p class="note">Nothing yet.</p>`}
  <//>`;
}
