// The bill of a project: what each prompt contains before the first word, what could be removed, what the whole was paid for, lost caches.

import { html, useEffect, useState } from "/vendor/preact-htm.js";
import { useAnswer } from "/answers.js";
import { query } from "/api.js";
import { capital, counted, longTokens, percent, quoted, tokens, usd, whole } from "/format.js";
import { Answered, Card, Empty } from "/parts/states.js";
import { useTitle } from "/route.js";

const AGAIN_MS = 1000; // while transcripts are being read
const MOST = 10; // proposals
const MOST_KINDS = 8; // rows of what the conversations were made of

export default function Bill() {
  const [project, choose] = useState("");
  const answer = useAnswer(query("/api/bill", { project }));
  const reading = answer.data?.reading ?? null;
  useTitle("Bill");
  useEffect(() => {
    if (reading === null) return undefined;
    const timer = setTimeout(answer.again, AGAIN_MS);
    return () => clearTimeout(timer);
  }, [answer.data]);
  return html`<div class="view">
    <div class="view-head">
      <h1 tabindex="-1">Bill</h1>
      <button type="button" class="button" onClick=${answer.again}>Refresh</button>
    </div>
    <p class="note" role="status">${reading !== null && `Reading your transcripts: ${percent(reading)} done.`}</p>
    <${Answered} answer=${answer} what="the bill" lines=${10}>
      ${(data) => html`${data.projects.length > 1 && html`<${Projects} data=${data} choose=${choose} />`}
        ${
          data.bill
            ? html`<div class="cards">
              <${Before} bill=${data.bill} phrases=${data.phrases} />
              <${Proposals} bill=${data.bill} words=${data.phrases.proposals} drafts=${data.phrases.drafts} />
              ${data.phrases.hidden.length > 0 && html`<${Hidden} words=${data.phrases.hidden} hidden=${data.bill.hidden} />`}
              <${Whole} whole=${data.bill.whole} phrases=${data.phrases} dated=${data.bill.prices_of} />
              ${data.phrases.lifetime.length > 0 && html`<${Lifetime} phrases=${data.phrases} />`}
              <${Lost} misses=${data.misses} causes=${data.causes} />
            </div>`
            : reading === null && html`<${Empty} title="No sessions yet">The bill begins with your first session of Claude Code.<//>`
        }`}
    <//>
  </div>`;
}

function Projects({ data, choose }) {
  return html`<label class="field field-inline">Project
    <select value=${data.project} onChange=${(event) => choose(event.target.value)}>
      ${data.projects.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
    </select>
  </label>`;
}

/** Rows of {words, note, figures, parts}: words that open to their parts, a note below them, and figures. */
function Table({ heads, rows, label }) {
  return html`<div class="scroll-x" tabindex="0" role="region" aria-label=${label}><table class="plain log">
    <thead><tr>${heads.map((head) => html`<th key=${head} scope="col">${head}</th>`)}</tr></thead>
    <tbody>${rows.map((row, at) => html`<${Row} key=${at} row=${row} />`)}</tbody>
  </table></div>`;
}

function Row({ row, depth = 0 }) {
  const [open, set] = useState(row.opened ?? false);
  const parts = row.parts ?? [];
  const words = parts.length
    ? html`<button type="button" class="opens" aria-expanded=${String(open)} onClick=${() => set(!open)}>${row.words}</button>`
    : row.words;
  return html`<tr class=${depth ? `part-${Math.min(depth, 3)}` : ""}>
      <th scope="row" class="log-words">${words}${row.note && html` <span class="note">${row.note}</span>`}</th>
      ${row.figures.map((each, column) => html`<td key=${column}>${each}</td>`)}
    </tr>
    ${open && parts.map((each, at) => html`<${Row} key=${at} row=${each} depth=${depth + 1} />`)}`;
}

const unpriced = (number) => (number ? `, ${whole(number)} of them of models without a known price` : "");

function Before({ bill, phrases }) {
  const { rows, pace, tokens: all } = bill;
  const note = rows.length > 0 && `${longTokens(all)} in each prompt${
    pace.usd ? `, ${usd(all * pace.usd)} a month at your pace of ${counted(pace.requests, "request")} a month` : ""
  }`;
  const monthly = (row) => (pace.usd && row.tokens ? usd(row.tokens * pace.usd) : "-");
  const shown = (row, phrase) => ({
    words: phrase.words,
    note: phrase.used,
    figures: [row.tokens ? whole(row.tokens) : "-", all ? percent(row.tokens / all) : "-", monthly(row)],
    parts: row.parts.map((each, at) => shown(each, phrase.parts[at])),
  });
  const lines = rows.map((row, at) => shown(row, phrases.rows[at]));
  return html`<${Card} title="Before your first word" id="before" wide note=${note}>
    ${
      rows.length
        ? html`<${Table} label="What each prompt contains" heads=${["What", "Tokens", "Share", "Month"]} rows=${lines} />`
        : html`<p>${bill.first_prompt ? `The newest session began with ${longTokens(bill.first_prompt)}. ` : ""}${phrases.unknown}</p>`
    }
  <//>`;
}

function Proposals({ bill, words, drafts }) {
  return html`<${Card} title="Could go" id="proposals" wide>
    ${
      words.length + drafts.length
        ? html`<ul class="limits">
          ${bill.proposals.slice(0, MOST).map(
            (row, at) => html`<li class="limit" key=${row.name}>
              <p>${words[at]}</p>
              <p class="note">To hide it: <code>popkit bill hide ${quoted(row.name)}</code>; so that Claude still finds it:${" "}
                <code>popkit bill defer ${quoted(row.name)}</code></p>
            </li>`,
          )}
          ${drafts.map(
            ([sentence, run]) => html`<li class="limit" key=${run}>
              <p>${sentence}</p>
              <p class="note">To draft it: <code>${run}</code></p>
            </li>`,
          )}
        </ul>
        ${words.length > MOST && html`<p class="note">${whole(words.length - MOST)} more: <code>popkit bill --json</code></p>`}`
        : html`<p class="note">Nothing to propose. A server or a tool is proposed once three sessions have not used it.</p>`
    }
  <//>`;
}

function Hidden({ words, hidden }) {
  return html`<${Card} title="Out of this project’s prompts" id="hidden" wide>
    <ul class="limits">
      ${Object.values(hidden).map(
        (row, at) => html`<li class="limit" key=${row.name}>
          <p>${words[at]}</p>
          <p class="note">To bring it back: <code>popkit bill show ${quoted(row.name)}</code></p>
        </li>`,
      )}
    </ul>
  <//>`;
}

function Whole({ whole: paid, phrases, dated }) {
  const prices = `At the prices of the API${dated ? ` of ${dated}` : ""}.`;
  const note = `The last 30 days: ${counted(paid.requests, "request")}${unpriced(paid.unpriced)}: ${usd(paid.usd)}. ${prices}`;
  const figures = (dollars) => [percent(dollars / paid.usd), usd(dollars)];
  const shown = (row, phrase) => ({
    words: capital(phrase.words),
    figures: figures(row.usd),
    parts: row.parts.map((each, at) => shown(each, phrase.parts[at])),
  });
  const kinds = paid.kinds.map((row, at) => shown(row, phrases.kinds[at])).filter((_, at) => paid.kinds[at].usd);
  const rest = paid.kinds.filter((row) => row.usd).slice(MOST_KINDS);
  const others = figures(rest.reduce((sum, row) => sum + row.usd, 0));
  const more = { words: `${whole(rest.length)} more`, figures: others, parts: kinds.slice(MOST_KINDS) };
  const rows = Object.entries(phrases.parts).map(([name, words]) => ({
    words,
    figures: figures(paid.parts[name]),
    ...(name === "conversation" && { parts: [...kinds.slice(0, MOST_KINDS), ...(rest.length ? [more] : [])], opened: true }),
  }));
  return html`<${Card} title="What the bill was made of" id="paid" wide note=${note}>
    ${paid.usd > 0 && html`<${Table} label="What the whole was paid for" heads=${["What", "Share", "Dollars"]} rows=${rows} />`}
  <//>`;
}

function Lifetime({ phrases }) {
  return html`<${Card} title="How long the prompt cache lives" id="lifetime" wide>
    ${phrases.lifetime.map((sentence) => html`<p key=${sentence}>${sentence}</p>`)}
    ${
      phrases.lifetime_settings.length > 0 &&
      html`<p class="note">To set it, in <code>~/.claude/settings.json</code>:${" "}
        ${phrases.lifetime_settings.map((line) => html`<code key=${line}>${line}</code> `)}</p>`
    }
  <//>`;
}

function Lost({ misses, causes }) {
  const { lost } = misses;
  const times = counted(lost.times, "request");
  const part = misses.usd ? `, ${percent(lost.usd / misses.usd)} of what all requests cost` : "";
  const note = lost.times
    ? `All projects, the last 30 days: ${longTokens(lost.tokens)} were written again in ${times}: ${usd(lost.usd)}${part}`
    : "No request wrote again what the previous one had left in the cache.";
  const causeWords = ({ cause, details }) => {
    const [what, advice] = causes[cause] ?? [cause, ""];
    const more = details.map(([words, times]) => (times > 1 ? `${words} (${whole(times)})` : words)).join("; ");
    return html`${what}${more && `: ${more}`}${advice && html` <span class="note">${advice}</span>`}`;
  };
  const money = (row) => (row.unpriced === row.times ? "unknown" : usd(row.usd));
  const figures = (row) => [whole(row.times), tokens(row.tokens).replace("~", ""), money(row)];
  const rows = misses.causes.map((row) => ({ words: causeWords(row), figures: figures(row) }));
  return html`<${Card} title="Lost caches" id="lost" wide note=${note}>
    ${rows.length > 0 && html`<${Table} label="Lost caches by cause" heads=${["Why", "Times", "Tokens", "Dollars"]} rows=${rows} />`}
  <//>`;
}
