// The context over time: what each request sent, by retention tier or by layer.

import { html, useState } from "../vendor/preact-htm.js";
import { useAnswer } from "../answers.js";
import { Areas } from "../charts/areas.js";
import { capital } from "../format.js";
import { expiredFill, fillOf, LAYERS, Legend, TIERS } from "../palette.js";
import { Answered, Card, Choice, Empty } from "../parts/states.js";

const LINES = 12; // as tall as the chart, so that what is below it stays where it is
const REST = { key: "rest", name: "All else", fill: fillOf("rest") };
const BY_TIER = [
  REST,
  ...[...TIERS].reverse().map((tier) => ({ key: tier, name: capital(tier), fill: fillOf(tier) })),
  { key: "expired", name: "Expired", fill: expiredFill("any") },
];
const BY_LAYER = LAYERS.map(([key, name]) => ({ key, name, fill: fillOf(key) }));

function byTier({ at, request, tokens, tiers, expired }) {
  const values = Object.fromEntries(TIERS.map((tier) => [tier, tiers[tier] ?? 0]));
  const known = expired + TIERS.reduce((sum, tier) => sum + values[tier], 0);
  return { at, request, values: { ...values, expired, rest: Math.max(0, tokens - known) } };
}

const byLayer = ({ at, request, layers }) => ({ at, request, values: layers });

/** `fixed`: "layer" where no tiers are known. */
export function OverTime({ base, stamp, fixed = "" }) {
  const [by, choose] = useState(fixed || "tier");
  const answer = useAnswer(`${base}/series`, stamp);
  const parts = by === "tier" ? BY_TIER : BY_LAYER;
  const tools = !fixed && html`<${Choice} label="What the areas are" chosen=${by} choose=${choose} options=${[
    ["tier", "By tier"],
    ["layer", "By layer"],
  ]} />`;
  return html`<${Card} title="Over time" id="over-time" wide tools=${tools}>
    <${Answered} answer=${answer} what="the chart" lines=${LINES}>
      ${({ points, compactions, clears }) => {
        if (!points.length) return html`<${Empty} title="No requests yet">The chart begins with the first request of the session.<//>`;
        const shown = points.map(by === "tier" ? byTier : byLayer);
        const used = parts.filter(({ key }) => shown.some(({ values }) => values[key] > 0));
        const marks = [...compactions.map((at) => ({ at, words: "compacted" })), ...clears.map((at) => ({ at, words: "cleared" }))].sort(
          (one, other) => one.at - other.at,
        );
        const caption = `Tokens of the context by ${by === "tier" ? "retention tier" : "layer"}, request by request`;
        return html`<${Legend} items=${[...used].reverse().map(({ name, fill }) => [name, fill])} />
          <${Areas} points=${shown} parts=${used} marks=${marks} caption=${caption} />`;
      }}
    <//>
  <//>`;
}
