// Limits and how much of them is used, and what was used day by day.

import { html } from "../vendor/preact-htm.js";
import { useAnswer } from "../answers.js";
import { DayBars } from "../charts/bars.js";
import { usd, whole } from "../format.js";
import { useLive } from "../live.js";
import { fillOf, Legend } from "../palette.js";
import { Meter } from "../parts/fill.js";
import { Answered, Card, Empty } from "../parts/states.js";
import { toSession, useTitle } from "../route.js";

const USED = [
  { key: "cache_read_tokens", name: "Read from the cache", fill: fillOf("short") },
  { key: "cache_write_tokens", name: "Written to the cache", fill: fillOf("session") },
  { key: "input_tokens", name: "Input", fill: fillOf("medium") },
  { key: "output_tokens", name: "Output", fill: fillOf("ephemeral") },
];

export function Budgets() {
  const { stamps } = useLive();
  const answer = useAnswer("/api/budgets", stamps.budgets);
  useTitle("Budgets");
  return html`<div class="view">
    <div class="view-head"><h1 tabindex="-1">Budgets</h1></div>
    <${Answered} answer=${answer} what="budgets" lines=${8}>
      ${(data) => html`<div class="cards">
        <${Card} title="Limits" id="limits" wide>
          ${
            data.limits.length
              ? html`<ul class="limits">${data.limits.map(
                  (limit) => html`<${Limit} key=${limit.scope + limit.of + limit.unit}
                limit=${limit} />`,
                )}</ul>
                <p class="note">To set another: <code>${data.how}</code></p>`
              : html`<${Empty} title="No limit is set">To set one: <code>${data.how}</code><//>`
          }
        <//>
        <${Usage} days=${data.usage} />
      </div>`}
    <//>
  </div>`;
}

function Limit({ limit }) {
  const amount = (number) => (limit.unit === "usd" ? usd(number) : `${whole(number)} tokens`);
  const share = (number) => `${Number(number.toFixed(1))}%`;
  const used = share(limit.used_percent);
  const words = `${amount(limit.used)} of ${amount(limit.limit)} used (${used})`;
  return html`<li class="limit">
    <p class="limit-head">
      <strong>${limit.scope === "month" ? "This month" : "Session"}</strong>
      ${
        limit.of &&
        (limit.scope === "session"
          ? html`<a class="id" href=${toSession(limit.of)}>${limit.of}</a>`
          : html`<span
        class="note">${limit.of}</span>`)
      }
      <span class="figure limit-share">${used}</span>
    </p>
    <${Meter} ratio=${limit.used_percent / 100} label=${words} />
    <p class="note">${words}, ${share(limit.remaining_percent)} remaining (${limit.range})</p>
  </li>`;
}

function Usage({ days }) {
  const used = USED.filter(({ key }) => days.some((day) => day[key] > 0));
  const spent = days.some(({ usd: dollars }) => dollars !== null) ? days.reduce((sum, { usd: dollars }) => sum + (dollars ?? 0), 0) : null;
  return html`<${Card} title="Usage by day" id="usage" wide
    note=${spent === null ? "The last 30 days, in tokens" : `The last 30 days, in tokens: ${usd(spent)} at the prices of the API`}>
    ${
      used.length
        ? html`<${Legend} items=${used.map(({ name, fill }) => [name, fill])} />
          <${DayBars} days=${days.map((day) => ({ day: day.day, values: day }))} up=${used} words=${whole} caption="Tokens used, by day" />`
        : html`<${Empty} title="No usage is known yet">
            It comes from clients that build their context with PopKit and, once a limit is set, from Claude Code.
          <//>`
    }
  <//>`;
}
