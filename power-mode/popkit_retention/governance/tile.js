// What stored data may be deleted, what is held back, how much there is, and the log of all that.

import { html, useState } from "/vendor/preact-htm.js";
import { useAnswer } from "/answers.js";
import { query } from "/api.js";
import { NamedBars } from "/charts/bars.js";
import { capital, counted, date, moment, sentence, size, whole } from "/format.js";
import { fillOf, Legend } from "/palette.js";
import { OperationButtons, place } from "/parts/operations.js";
import { Answered, Card, Empty, More } from "/parts/states.js";
import { useTitle } from "/route.js";

const NAMES = { memory: "Memory", rag: "Archive" };
const WHOLE = "The log is complete and unaltered.";
const BROKEN = "The log is broken: popkit doctor says where.";
const LOG_PAGE = 30;
const LOG_MOST = 1_000; // that the server tells at once
const WHERE = place("/api/retention/operations", { touches: ["/api/retention", "/api/memory", "/api/sessions/"] });

export default function Retention() {
  const answer = useAnswer("/api/retention");
  useTitle("Retention");
  return html`<div class="view">
    <div class="view-head"><h1 tabindex="-1">Retention</h1><p class="note">What stored data may be deleted, and what may not</p></div>
    <${Answered} answer=${answer} what="policies and holds" lines=${12}>
      ${(data) => html`<div class="cards">
        ${
          data.problems.length > 0 &&
          html`<div class="problem card-wide" role="alert">
          <p class="problem-title">Needs attention</p>${data.problems.map((words) => html`<p key=${words}>${words}</p>`)}
        </div>`
        }
        ${data.policies.map((policy) => html`<${Policy} key=${policy.domain} policy=${policy} />`)}
        ${
          data.operations.length > 0 &&
          html`<${Card} title="What can be done" id="operations" wide><${OperationButtons} operations=${data.operations}
          where=${WHERE} /><//>`
        }
        <${Holds} holds=${data.holds} />
        <${Zones} zones=${data.zones} />
        <${Sizes} sizes=${data.sizes} />
        <${Log} whole=${data.log_whole} />
      </div>`}
    <//>
  </div>`;
}

function Policy({ policy }) {
  return html`<${Card} title=${`${NAMES[policy.domain]} policy`} id=${`policy-${policy.domain}`}
    note=${policy.revision ? `Changed ${counted(policy.revision, "time")}` : "As shipped"}>
    <ul class="words">
      ${[...(policy.sentences ?? []), ...policy.words.map(sentence)].map((words) => html`<li key=${words}>${words}</li>`)}
    </ul>
    <dl class="figures figures-row">
      ${[
        ["May be deleted", policy.eligible],
        ["Marked", policy.marked],
        ["Held", policy.held],
      ].map(
        ([name, count]) => html`<div class="figure-row" key=${name}>
        <dt>${name}</dt><dd><span class="figure">${whole(count)}</span></dd>
      </div>`,
      )}
    </dl>
    <details class="data">
      <summary>Settings<span class="unseen"> of the ${NAMES[policy.domain].toLowerCase()} policy</span></summary>
      <p class="note">To change one: <code>${`popkit retention set ${policy.domain}.older_than_days=60`}</code></p>
      <${Values} values=${policy.values} texts=${policy.said ?? {}} />
    </details>
  <//>`;
}

/** What a policy says, under the names that `popkit retention set` takes. `said`: name -> its value in words. */
function Values({ values, texts }) {
  return html`<dl class="figures pairs">
    ${Object.entries(values).map(
      ([name, value]) => html`<div class="figure-row" key=${name}>
        <dt><code>${name}</code></dt><dd>${texts[name] ?? valueWords(value)}</dd>
      </div>`,
    )}
  </dl>`;
}

function valueWords(value) {
  if (Array.isArray(value)) return value.join(", ") || "none";
  return typeof value === "number" ? value.toLocaleString("en-US", { maximumFractionDigits: 6 }) : String(value ?? "none");
}

function Holds({ holds }) {
  return html`<${Card} title="Holds" id="holds" wide>
    ${
      holds.length
        ? html`<ul class="items">${holds.map(
            (hold) => html`<li class="item" key=${hold.id}>
          <p class="item-head">
            <span class="note">${NAMES[hold.domain]} · ${hold.scope}</span>
          </p>
          <p class="item-text">${hold.why || "No reason was given"}</p>
          <p class="note">
            <span class="id">${hold.target}</span> · held by ${hold.who} since ${moment(hold.since)}
            ${hold.until ? `, until ${date(hold.until)}` : ""}
          </p>
          <${OperationButtons} operations=${hold.operations} where=${WHERE} />
        </li>`,
          )}</ul>`
        : html`<${Empty} title="Nothing is held">Open a session and choose Hold to keep all its results.<//>`
    }
  <//>`;
}

const ZONES = { hot: "Newest results", warm: "Older ones", cold: "Oldest ones" };

function Zones({ zones }) {
  const rows = zones.map(({ name, records, stored_bytes: stored, original_bytes: original }) => ({
    name: ZONES[name],
    parts: [
      [stored, fillOf("short")],
      [Math.max(0, original - stored), fillOf("rest")],
    ],
    words: `${counted(records, "record")}, ${size(stored)}${original > stored ? ` of ${size(original)}` : ""}`,
  }));
  return html`<${Card} title="Archive by age" id="zones">
    <${Legend} items=${[
      ["As stored", fillOf("short")],
      ["Saved by compression", fillOf("rest")],
    ]} />
    <${NamedBars} rows=${rows} label="Archive by age" />
  <//>`;
}

function Sizes({ sizes }) {
  const found = Object.entries(sizes)
    .filter(([, bytes]) => bytes > 0)
    .sort(([, one], [, other]) => other - one);
  const rows = found.map(([name, bytes]) => ({
    name: capital(name || "other files"),
    parts: [[bytes, fillOf("medium")]],
    words: size(bytes),
  }));
  return html`<${Card} title="What is stored" id="sizes">
    ${rows.length ? html`<${NamedBars} rows=${rows} label="What is stored" />` : html`<p class="note">Nothing is stored yet.</p>`}
  <//>`;
}

function Log({ whole: sound }) {
  const [limit, more] = useState(LOG_PAGE);
  const answer = useAnswer(query("/api/retention/log", { limit }));
  return html`<${Card} title="Log" id="log" wide
    note=${sound ? WHOLE : BROKEN}>
    <${Answered} answer=${answer} what="the log" lines=${5}>
      ${({ entries, total }) =>
        entries.length
          ? html`<div class="scroll" tabindex="0" role="region" aria-label="The log"><table class="plain log">
              <thead><tr><th scope="col">No.</th><th scope="col">When</th><th scope="col">Who</th><th scope="col">What</th></tr></thead>
              <tbody>${entries.map(
                (entry) => html`<tr key=${entry.number}>
                <th scope="row">${entry.number}</th><td>${moment(entry.at)}</td><td>${entry.who}</td><td
                  class="log-words">${entry.words}</td>
              </tr>`,
              )}</tbody>
            </table></div>
            <${More} shown=${entries.length} total=${total} limit=${limit} step=${LOG_PAGE} most=${LOG_MOST} ask=${more}
              rest=${`popkit retention admin log --most ${total}`} />`
          : html`<${Empty} title="The log is empty">Changes of policies, holds and stored data are recorded here.<//>`}
    <//>
  <//>`;
}
