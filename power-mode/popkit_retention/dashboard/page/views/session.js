// One session: what to do now, what its context holds, how that came about, and what it was worth.

import { html, useEffect, useRef, useState } from "../vendor/preact-htm.js";
import { renew, useAnswer } from "../answers.js";
import { baseName, capital, counted, elsewhere, longTokens, modelOf, money, percent, titleOf, tokens, whole } from "../format.js";
import { useTurns } from "../live.js";
import { fillOf, LAYERS, Swatch, TIERS } from "../palette.js";
import { OperationButtons, offeredAt, place } from "../parts/operations.js";
import { Cache, fillWords, Meter } from "../parts/fill.js";
import { Answered, Card } from "../parts/states.js";
import { Ago } from "../parts/when.js";
import { useTitle } from "../route.js";
import { Lost } from "./lost.js";
import { OverTime } from "./overtime.js";
import { Timeline } from "./timeline.js";

export function Session({ id }) {
  const base = `/api/sessions/${encodeURIComponent(id)}`;
  const answer = useAnswer(base);
  const session = answer.data?.session;
  useTurns(session ? [session] : [], () => renew(base));
  useTitle(
    session?.verdict?.kind === "clear" ? "Clear now" : session?.context && percent(session.context.ratio),
    session ? titleOf(session) : "Session",
  );
  return html`<article class="session" aria-labelledby="session-title">
    <p class="back"><a href="#/sessions">← All sessions</a></p>
    <${Answered} answer=${answer} what="the session" lines=${14}>
      ${(detail) => {
        const Shown = isRead(detail) ? Detail : Elsewhere;
        return html`<${Head} detail=${detail} />
          <${Shown} detail=${detail} base=${base} />`;
      }}
    <//>
  </article>`;
}

// Where somebody types or decides, the focus stays.
const IN_USE = "input, select, textarea, dialog *";

/** Whether there is a transcript; else a database alone tells of the session. */
const isRead = ({ report }) => report.calls !== undefined;

function Head({ detail }) {
  const { report, session } = detail;
  const title = useRef(null);
  useEffect(() => {
    if (!document.activeElement?.matches(IN_USE)) title.current.focus({ preventScroll: true });
  }, []);
  const did = isRead(detail)
    ? counted(session.calls, "tool call")
    : counted(session.requests || session.calls, "request");
  const keeper = elsewhere(session);
  const whose = keeper && report.host && report.host !== keeper ? `${keeper} (${report.host})` : keeper;
  return html`<header class="session-head">
    <h1 id="session-title" ref=${title} tabindex="-1">${titleOf(session)}</h1>
    <p class="note">
      ${session.running && html`<span class="badge badge-running">Running</span>`}
      <span title=${session.project}>${baseName(session.project)}</span>${whose && ` · ${whose}`} · ${did}
      ${report.turns ? ` in ${counted(report.turns, "turn")}` : ""} · last active <${Ago} at=${session.changed_at} />
    </p>
  </header>`;
}

function Detail({ detail, base }) {
  const operations = place(`${base}/operations`, { touches: [base, "/api/sessions?", "/api/retention"], offers: offeredAt(base) });
  const { report, session } = detail;
  return html`<${Verdict} verdict=${session.verdict} doubt=${detail.doubt}>
      <${OperationButtons} operations=${detail.operations} where=${operations} strong="clear" />
    <//>
    <div class="cards">
      <${Context} fill=${session.context} layers=${detail.layers} strategy=${detail.strategy} />
      <${Dead} report=${report} />
      <${OverTime} base=${base} />
      <${Timeline} bars=${detail.bars} calls=${report.calls} base=${base} operations=${operations} />
      <${Worth} detail=${detail} operations=${operations} />
      <${Lost} base=${base} />
      <${Panel} lines=${detail.lines} id=${session.id} />
    </div>`;
}

/** A session of which only a database tells: what it used, and what its contexts were made of. */
function Elsewhere({ detail, base }) {
  return html`<div class="cards">
    <${Card} title="What it used" id="used"><pre class="lines" tabindex="0" aria-label="What it used">${detail.lines.join("\n")}</pre><//>
    ${sumOf(detail.layers) > 0 && html`<${Card} title="Context" id="context">
      <${MadeOf} layers=${detail.layers} />
      <${Strategy} strategy=${detail.strategy} />
    <//>`}
    <${OverTime} base=${base} fixed="layer" />
  </div>`;
}

function Verdict({ verdict, doubt, children }) {
  const kind = verdict?.kind ?? "nothing";
  const [head, ...rest] = (verdict?.words ?? "Nothing is known of this session yet").split(": ");
  return html`<section class=${`verdict verdict-${kind}`} aria-label="What to do now">
    <div aria-live="polite">
      <p class="verdict-words"><strong>${head}</strong>${rest.length ? html`<span>${rest.join(": ")}</span>` : ""}</p>
      ${doubt && html`<p class="note">PopKit leaves this transcript alone, because it does not understand it: ${doubt}</p>`}
    </div>
    ${children}
  </section>`;
}

function Context({ fill, layers, strategy }) {
  return html`<${Card} title="Context" id="context">
    ${
      fill
        ? html`<p class="big"><span class="figure">${percent(fill.ratio)}</span> <small>full</small></p>
          <${Meter} ratio=${fill.ratio} label=${fillWords(fill)} />
          <p class="note">
            <span class="figure">${fillWords(fill)}</span>
          </p>
          <p class="cache-line"><${Cache} fill=${fill} /> <span class="note" title=${fill.model}>${modelOf(fill.model)}</span></p>`
        : html`<p class="note">No request of this session is known yet.</p>`
    }
    ${sumOf(layers) > 0 && html`<${MadeOf} layers=${layers} />`}
    <${Strategy} strategy=${strategy} />
  <//>`;
}

const sumOf = (layers) => LAYERS.reduce((all, [key]) => all + layers[key], 0);

function MadeOf({ layers }) {
  const sum = sumOf(layers);
  let at = 0;
  return html`<h3>What it is made of</h3>
    <svg class="meter layers" role="img" aria-label="The context by layer; the list below has the figures">
      ${LAYERS.map(([key]) => {
        const from = at;
        at += (layers[key] / sum) * 100;
        return html`<rect key=${key} class="layer" x=${`${from}%`} width=${`${at - from}%`} height="100%" fill=${fillOf(key)} />`;
      })}
    </svg>
    <dl class="figures">
      ${LAYERS.map(
        ([key, name]) => html`<div class="figure-row" key=${key}>
        <dt><${Swatch} fill=${fillOf(key)} /> ${name}</dt><dd><span class="figure">${tokens(layers[key])}</span></dd>
      </div>`,
      )}
    </dl>`;
}

/** By which rules the contexts of a session are assembled, and what the next range of the budget would change. */
function Strategy({ strategy }) {
  if (!strategy) return null;
  const { range, used_percent: used, sent, next_range: next, next_at_percent: at, rules } = strategy;
  const earlier = `${sent} earlier ${sent === 1 ? "exchange was" : "exchanges were"} sent.`;
  const then = next ? `Above ${at}% used, those for ${next} will.` : "There are no tighter ones.";
  return html`<h3>How it is assembled</h3>
    <p class="note" id="strategy">
      ${used}% of the budget is used, so the rules for ${range} remaining hold; ${earlier} ${then}
    </p>
    <dl class="figures" aria-labelledby="strategy">
      ${LAYERS.map(([key, name]) => {
        const rule = rules.find(({ layer }) => layer === key);
        return html`<div class="figure-row" key=${key}>
          <dt><${Swatch} fill=${fillOf(key)} /> ${name}</dt>
          <dd>${rule.now}${rule.next && html`<br /><span class="note">then ${rule.next}</span>`}</dd>
        </div>`;
      })}
    </dl>`;
}

function Dead({ report }) {
  const { expired, context, cleared, tiers } = report;
  const { now: at, cold } = report.reclaimable;
  const share = context && context.tokens > expired.tokens ? expired.tokens / context.tokens : 0;
  const part = share >= 0.01 ? ` (${percent(share)} of the context)` : "";
  const same = at.tokens === cold.tokens && at.items === cold.items;
  const from = ({ items, further }) => {
    if (!items) return further ? "from the least needed results and calls" : "";
    return `from ${counted(items, "result")}${further ? " and the least needed of the rest" : ""}`;
  };
  return html`<${Card} title="No longer needed" id="dead">
    <dl class="figures">
      <${Figure} name="Expired" value=${expired.items ? longTokens(expired.tokens) : "nothing"}
        more=${expired.items ? `in ${counted(expired.items, "result")}${part}` : ""} />
      <${Figure} name=${same ? "Clearing frees" : "Clearing now frees"} value=${at.tokens ? longTokens(at.tokens) : "nothing"}
        more=${from(at)} />
      ${
        !same &&
        html`<${Figure} name="After the cache goes cold" value=${cold.tokens ? longTokens(cold.tokens) : "nothing"}
        more=${from(cold)} />`
      }
      ${
        cleared?.items > 0 && html`<${Figure} name="Archived" value=${counted(cleared.items, "cleared result")} />`
      }
    </dl>
    <details class="data">
      <summary>By lifetime</summary>
      <${ByTier} tiers=${tiers} />
    </details>
  <//>`;
}

/** The table of the panel. */
function ByTier({ tiers }) {
  const cells = ({ items, tokens: sum }) => html`<td>${whole(items)}</td><td>${items ? tokens(sum) : ""}</td>`;
  return html`<div class="scroll-x" tabindex="0" role="region" aria-label="Results by tier"><table class="plain">
    <thead><tr><th scope="col">Lifetime</th><th scope="col">Live</th><th scope="col">Tokens</th><th scope="col">Expired</th><th
      scope="col">Tokens</th></tr></thead>
    <tbody>
      ${TIERS.map(
        (tier) => html`<tr key=${tier}>
        <th scope="row"><${Swatch} fill=${fillOf(tier)} /> ${capital(tier)}</th>${cells(tiers[tier].live)}${cells(tiers[tier].expired)}
      </tr>`,
      )}
    </tbody>
  </table></div>`;
}

const Figure = ({ name, value, more }) => html`<div class="figure-row">
  <dt>${name}</dt>
  <dd><span class="figure">${value}</span>${more && html`<small>${more}</small>`}</dd>
</div>`;

const priceNote = ({ cost_usd: cost, unpriced }) =>
  cost === null ? "no price is known for its model" : unpriced ? "without requests whose price is not known" : "";

function Worth({ detail, operations }) {
  const { ledger, figures } = detail;
  return html`<${Card} title="What it was worth" id="worth" wide>
    <dl class="figures">
      <${Figure} name="Kept out" value=${figures?.kept_out_tokens ? longTokens(figures.kept_out_tokens) : "nothing"} />
      <${Figure} name="Cleared" value=${figures?.cleared_tokens ? `${whole(figures.cleared_tokens)} tokens` : "nothing"} />
      ${figures && html`<${Figure} name="Cost" value=${money(figures.cost_usd)} more=${priceNote(figures)} />`}
      ${figures && html`<${Figure} name="Net" value=${money(figures.net_usd, true)} />`}
    </dl>
    ${ledger.map((line) => html`<p key=${line}>${line}</p>`)}
  <//>`;
}

function Panel({ lines, id }) {
  const [open, set] = useState(false);
  return html`<details class="card card-wide panel" onToggle=${(event) => set(event.target.open)}>
    <summary>Terminal view</summary>
    ${
      open &&
      html`<pre tabindex="0" aria-label="The panel">${lines.join("\n").trim()}</pre>
        <p class="note">To go on with this session: <code>claude --resume ${id}</code></p>`
    }
  </details>`;
}
