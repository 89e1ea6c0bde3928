// The context over time: what each request sent, by whether it is of use, by layer or by retention tier.

import { html, useState } from "../vendor/preact-htm.js";
import { useAnswer } from "../answers.js";
import { Areas } from "../charts/areas.js";
import { capital } from "../format.js";
import { expiredFill, fillOf, LAYERS, Legend, TIERS } from "../palette.js";
import { Answered, Card, Choice, Empty } from "../parts/states.js";

const LINES = 12; // as tall as the chart, so that what is below it stays where it is
const REST = { key: "rest", name: "All else", fill: fillOf("rest") };
const EXPIRED = { key: "expired", name: "Expired", fill: expiredFill("any") };
const BY_USE = [REST, { key: "use", name: "Results in use", fill: fillOf("use") }, EXPIRED];
const BY_TIER = [
  REST,
  ...[...TIERS].reverse().map((tier) => ({ key: tier, name: capital(tier), fill: fillOf(tier) })),
  EXPIRED,
];
const BY_LAYER = LAYERS.map(([key, name]) => ({ key, name, fill: fillOf(key) }));

function byTier({ at, request, tokens, tiers, expired }) {
  const values = Object.fromEntries(TIERS.map((tier) => [tier, tiers[tier] ?? 0]));
  const known = expired + TIERS.reduce((sum, tier) => sum + values[tier], 0);
  return { at, request, values: { ...values, expired, rest: Math.max(0, tokens - known) } };
}

function byUse(point) {
  const { values, ...counts } = byTier(point);
  const use = TIERS.reduce((sum, tier) => sum + values[tier], 0);
  return { ...counts, values: { use, expired: values.expired, rest: values.rest } };
}

const byLayer = ({ at, request, layers }) => ({ at, request, values: layers });

// [parts, point -> what is drawn of it, words]
const WAYS = {
  use: [BY_USE, byUse, "use"],
  layer: [BY_LAYER, byLayer, "layer"],
  tier: [BY_TIER, byTier, "lifetime"],
};

/** `fixed`: "layer" where nothing is known of results. */
export function OverTime({ base, fixed = "" }) {
  const [by, choose] = useState(fixed || "use");
  const answer = useAnswer(`${base}/series`);
  const [parts, drawn, words] = WAYS[by];
  const tools = !fixed && html`<${Choice} label="What the areas are" chosen=${by} choose=${choose} options=${[
    ["use", "By use"],
    ["layer", "By layer"],
    ["tier", "By lifetime"],
  ]} />`;
  return html`<${Card} title="Over time" id="over-time" wide tools=${tools}>
    <${Answered} answer=${answer} what="the chart" lines=${LINES}>
      ${({ points, marks }) => {
        if (!points.length) return html`<${Empty} title="No requests yet">The chart begins with the first request of the session.<//>`;
        const shown = points.map(drawn);
        const used = parts.filter(({ key }) => shown.some(({ values }) => values[key] > 0));
        const caption = `Tokens of the context by ${words}, request by request`;
        return html`<${Legend} items=${[...used].reverse().map(({ name, fill }) => [name, fill])} />
          <${Areas} points=${shown} parts=${used} marks=${marks} caption=${caption} />`;
      }}
    <//>
  <//>`;
}
