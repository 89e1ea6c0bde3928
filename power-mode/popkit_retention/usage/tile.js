// Limits and how much of them is used, and what was used day by day.

import { html, useState } from "/vendor/preact-htm.js";
import { useAnswer } from "/answers.js";
import { query } from "/api.js";
import { DayBars } from "/charts/bars.js";
import { counted, usd, whole } from "/format.js";
import { fillOf, Legend } from "/palette.js";
import { Meter } from "/parts/fill.js";
import { Answered, Card, Empty } from "/parts/states.js";
import { toSession, useTitle } from "/route.js";

const USED = [
  { key: "cache_read_tokens", name: "Read from the cache", fill: fillOf("short") },
  { key: "cache_write_tokens", name: "Written to the cache", fill: fillOf("session") },
  { key: "input_tokens", name: "Input", fill: fillOf("medium") },
  { key: "output_tokens", name: "Output", fill: fillOf("ephemeral") },
];

const SCOPES = { session: "Session", month: "This month" };

export default function Budgets() {
  const [user, choose] = useState("");
  const answer = useAnswer(query("/api/budgets", { user }));
  useTitle("Budgets");
  return html`<div class="view">
    <div class="view-head"><h1 tabindex="-1">Budgets</h1></div>
    <${Answered} answer=${answer} what="budgets" lines=${8}>
      ${(data) => html`${data.users.length > 1 && html`<${Users} users=${data.users} user=${user} choose=${choose} />`}
        <div class="cards">
          <${Card} title="Limits" id="limits" wide><${Limits} data=${data} /><//>
          <${Usage} days=${data.usage} user=${data.user ?? user} />
        </div>`}
    <//>
  </div>`;
}

function Users({ users, user, choose }) {
  return html`<label class="field field-inline">User
    <select value=${user} onChange=${(event) => choose(event.target.value)}>
      <option value="">Everybody</option>
      ${users.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
    </select>
  </label>`;
}

function Limits({ data }) {
  const configured = Object.entries(data.configured ?? {});
  if (!data.limits.length && !configured.length) return html`<${Empty} title="No limit is set">To set one: <code>${data.how}</code><//>`;
  return html`${
    data.limits.length
      ? html`<ul class="limits">
          ${data.limits.map((limit) => html`<${Limit} key=${limit.scope + limit.of + limit.unit} limit=${limit} />`)}
        </ul>`
      : html`<${Empty} title="Nothing has been used yet">
          ${configured.map(([name, most]) => html`<p key=${name}>${limitWords(name, most)}</p>`)}
        <//>`
  }<p class="note">To set another: <code>${data.how}</code></p>`;
}

/** Limit per session: 20,000 tokens, of session_tokens. */
function limitWords(name, most) {
  const [scope, unit] = name.split("_");
  return `Limit per ${scope}: ${amountOf(unit, most)}`;
}

const amountOf = (unit, number) => (unit === "usd" ? usd(number) : `${whole(number)} tokens`);

function Limit({ limit }) {
  const share = (number) => `${number.toFixed(1)}%`;
  const used = share(limit.used_percent);
  const words = `${amountOf(limit.unit, limit.used)} of ${amountOf(limit.unit, limit.limit)} used (${used})`;
  const isSession = limit.scope === "session";
  const of = isSession ? html`<a class="id" href=${toSession(limit.of)}>${limit.of}</a>` : html`<span class="note">${limit.of}</span>`;
  return html`<li class="limit">
    <p class="limit-head">
      <strong>${SCOPES[limit.scope]}</strong> ${limit.of && of}
      <span class="figure limit-share">${used}</span>
    </p>
    <${Meter} ratio=${limit.used_percent / 100} label=${words} />
    <p class="note">
      ${words}. With ${share(limit.remaining_percent)} left, contexts are built as for ${rangeWords(limit.range)} of the budget.
    </p>
  </li>`;
}

const rangeWords = (range) => range.replace("-", "–").replace(">", "over ").replace("<", "under ");

function Usage({ days, user }) {
  const used = USED.filter(({ key }) => days.some((day) => day[key] > 0));
  return html`<${Card} title=${user ? `Usage of ${user} by day` : "Usage by day"} id="usage" wide
    note=${used.length > 0 && `The last 30 days, in tokens${priceOf(days)}`}>
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

/** ": $12.34 at the prices of the API, plus 3 requests of unknown price" */
function priceOf(days) {
  const priced = days.filter((day) => day.usd !== null && USED.some(({ key }) => day[key] > 0));
  const unpriced = days.reduce((sum, day) => sum + (day.unpriced ?? 0), 0);
  const spent = priced.length > 0 && `${usd(priced.reduce((sum, day) => sum + day.usd, 0))} at the prices of the API`;
  const more = unpriced > 0 && `${spent ? "plus " : ""}${counted(unpriced, "request")} of unknown price`;
  const details = [spent, more].filter(Boolean).join(", ");
  return details && `: ${details}`;
}
