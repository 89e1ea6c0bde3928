// The results of a session as bars, from the call that they came with to the one that ended them. A bar opens the reasons beside it; bars
// in a row that say the same are one, which opens them.

import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";
import { counted, longTokens, tokens } from "../format.js";
import { CLEARED, expiredFill, fillOf, Legend } from "../palette.js";
import { Card, Choice, Empty } from "../parts/states.js";
import { Why } from "./why.js";

const FEW = 40; // as many as the terminal shows
// What a clear would take now is a question of its own beside the three states.
const CHOICES = {
  all: () => true,
  live: ({ state }) => state === "live",
  expired: ({ state }) => state === "expired",
  cleared: ({ state }) => state === "cleared",
  takes: ({ plan }) => plan === "clear",
};
const NONE = {
  all: "No tool results in this context",
  live: "No live results",
  expired: "No expired results",
  cleared: "No cleared results",
  takes: "Clearing now would free nothing",
};
const STATES = { live: "live", expired: "expired, still in the context", cleared: "cleared: a placeholder is left" };

export function Timeline({ bars, calls, base, operations }) {
  const [state, choose] = useState("all");
  const [everything, show] = useState(false);
  const [opened, open] = useState(null);
  const [unfolded, unfold] = useState(() => new Set());
  const list = useRef(null);
  const chosen = useMemo(() => bars.filter(CHOICES[state]), [bars, state]);
  const rows = useMemo(() => folded(chosen, unfolded), [chosen, unfolded]);
  const shown = everything ? rows : rows.slice(-FEW);
  const press = useMemo(
    () => (row) =>
      row.of
        ? unfold((before) => new Set([...before, ...row.of.map(({ number }) => number)]))
        : open((before) => (before === row.number ? null : row.number)),
    [],
  );
  const close = () => {
    const bar = list.current?.querySelector(`[data-number="${opened}"]`);
    open(null);
    bar?.focus();
  };
  const options = [
    ["all", "All"],
    ["live", "Live"],
    ["expired", "Expired"],
    ["cleared", "Cleared"],
    ["takes", "Would be cleared"],
  ];
  return html`<${Card} title="Timeline" id="timeline" wide tools=${html`<${Choice} label="Which results" chosen=${state}
    choose=${choose} options=${options} />`}>
    <${Legend} items=${[
      ["In use", fillOf("use")],
      ["Expired, still in the context", expiredFill("any")],
      ["Cleared", CLEARED],
    ]} />
    <div class=${opened === null ? "timeline" : "timeline has-why"}>
      <div>
        ${
          chosen.length
            ? html`<${Bars} bars=${shown} calls=${calls} opened=${opened} press=${press} close=${() => open(null)} list=${list} />`
            : html`<${Empty} title=${NONE[state]}>
              ${state === "all" ? "Each result of a tool gets a bar here." : "Choose All to see every result."}
            <//>`
        }
        ${
          rows.length > FEW &&
          html`<button type="button" class="button more" onClick=${() => show(!everything)}>
          ${everything ? `Show the newest ${FEW}` : `Show all ${counted(chosen.length, "result")}`}
        </button>`
        }
      </div>
      ${opened !== null && html`<${Why} key=${opened} number=${opened} base=${base} operations=${operations} close=${close} />`}
    </div>
  <//>`;
}

/** How a bar's life ends or ended, without which call it was: until repeated, edited. */
const endOf = ({ note }) => note.replace(/\s*(\bat)?:?\s*\bT\d+.*/, "");
/** What bars of a fold have in common: what has ended is over, whatever it was that ended it. */
const saying = (bar) => [bar.state, bar.plan === "clear", bar.state === "live" && endOf(bar)].join();

/** Rows of the timeline: bars, and where three and more in a row say the same and none is pinned, made smaller or `unfolded`: one for all
 * of them, with them as `of`. */
export function folded(bars, unfolded) {
  const rows = [];
  for (const bar of bars) {
    const alone = bar.pinned || bar.kept_out_tokens || unfolded.has(bar.number);
    const last = rows[rows.length - 1];
    const follows = last?.of[last.of.length - 1].number + 1 === bar.number;
    if (!alone && follows && last.says === saying(bar)) last.of.push(bar);
    else rows.push({ says: alone ? null : saying(bar), of: [bar] });
  }
  return rows.flatMap(({ of }) => (of.length < 3 ? of : [asOne(of)]));
}

function asOne(of) {
  const last = of[of.length - 1];
  const ends = of.map(({ to_call: to }) => to).filter((to) => to !== null);
  return {
    ...last,
    of,
    label: namesOf(of),
    number: of[0].number,
    last: last.number,
    tokens: of.reduce((sum, bar) => sum + bar.tokens, 0),
    from_call: of[0].from_call,
    to_call: ends.length ? Math.max(...ends) : null,
    note: last.state === "cleared" ? "cleared" : [...new Set(of.map(endOf))].join(", "),
  };
}

/** 4 times Bash mkdir; 3 Edit, 2 Bash */
function namesOf(of) {
  const labels = new Set(of.map(({ label }) => label));
  if (labels.size === 1) return `${of.length} times ${of[0].label}`;
  const counts = new Map();
  for (const { label } of of) counts.set(label.split(" ")[0], (counts.get(label.split(" ")[0]) ?? 0) + 1);
  const [first, ...rest] = of.map(({ label }) => label.split(" "));
  const alike = first.findIndex((word, at) => rest.some((words) => words[at] !== word));
  if (alike > 1) return `${of.length} times ${first.slice(0, alike).join(" ")} …`;
  return [...counts]
    .sort(([, one], [, other]) => other - one)
    .map(([tool, count]) => `${count} ${tool}`)
    .join(", ");
}

function Bars({ bars, calls, opened, press, close, list }) {
  const [at, move] = useState(bars[bars.length - 1].number);
  const first = bars.reduce((low, bar) => Math.min(low, bar.from_call), bars[0].from_call);
  const last = Math.max(calls, bars[bars.length - 1].from_call);
  const current = bars.some(({ number }) => number === at) ? at : bars[bars.length - 1].number;
  const walk = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -bars.length, End: bars.length }[event.key];
    if (event.key === "Escape" && opened !== null) close();
    if (!step) return;
    event.preventDefault();
    const from = bars.findIndex(({ number }) => number === current);
    const to = bars[Math.max(0, Math.min(bars.length - 1, from + step))].number;
    move(to);
    list.current.querySelector(`[data-number="${to}"]`).focus();
  };
  useEffect(() => {
    if (opened !== null) move(opened);
  }, [opened]);
  return html`<div class="axis-head" aria-hidden="true"><span>T${first}</span><span>T${last}</span></div>
    <ol class="bars" ref=${list} onKeyDown=${walk} aria-label="Results, oldest first. The arrow keys move from bar to bar, Enter says why.">
      ${bars.map(
        (bar) => html`<${Bar} key=${bar.number} bar=${bar} first=${first} last=${last} reachable=${bar.number === current}
        opened=${bar.number === opened} press=${press} />`,
      )}
    </ol>`;
}

function Bar({ bar, first, last, reachable, opened, press }) {
  const { of } = bar;
  const spoken =
    `T${bar.number}${of ? ` to T${bar.last}` : ""} ${bar.label}, ${STATES[bar.state]}, ${longTokens(bar.tokens)}` +
    `${bar.pinned ? ", pinned" : ""}${bar.note ? `, ${bar.note}` : ""}. ${of ? "Show each" : "Why?"}`;
  return useMemo(
    () => html`<li>
    <button type="button" class=${`bar-row bar-${bar.state}${of ? " bar-fold" : ""}`} data-number=${bar.number}
      tabindex=${reachable ? 0 : -1} aria-expanded=${String(opened)}
      aria-label=${spoken} onClick=${() => press(bar)}>
      <span class="bar-number">${of ? `T${bar.number}–${bar.last}` : `T${bar.number}`}</span>
      <span class="bar-label" title=${bar.label}>${bar.pinned && html`<${Pin} />`}${bar.label}</span>
      <span class="bar-tokens figure">${tokens(bar.tokens)}</span>
      <${Life} bar=${bar} first=${first} last=${last} />
      <span class="bar-note">${bar.note}${bar.kept_out_tokens ? ` · ${tokens(bar.kept_out_tokens)} kept out` : ""}</span>
    </button>
  </li>`,
    [bar, first, last, reachable, opened, press],
  );
}

/** Full while it lived, striped since it expired, dotted since it left. */
function Life({ bar, first, last }) {
  const calls = last - first + 1;
  const x = (call) => (Math.max(0, Math.min(calls, call - first)) / calls) * 100;
  const from = x(bar.from_call);
  const end = bar.state === "live" ? 100 : Math.max(from + 0.8, x(bar.to_call ?? bar.from_call + 1));
  return html`<svg class="life" aria-hidden="true">
    <rect class="life-ground" width="100%" height="100%" rx="2" />
    ${
      bar.state === "expired" &&
      end < 100 &&
      html`<rect class=${`life-expired line-any`} x=${`${end}%`} y="1.5"
      width=${`${100 - end}%`} height="9" fill=${expiredFill("any")} />`
    }
    ${
      bar.state === "cleared" &&
      end < 100 &&
      html`<line class=${`life-cleared line-any`} x1=${`${end}%`} x2="100%" y1="6"
      y2="6" />`
    }
    <rect class=${`life-live life-live-${bar.state}`} x=${`${from}%`} width=${`${Math.max(0.8, end - from)}%`} height="12" rx="1.5"
      fill=${fillOf("use")} />
  </svg>`;
}

const Pin = () => html`<svg class="pin" viewBox="0 0 12 12" width="11" height="11" aria-hidden="true">
  <path d="M4 1h4l-.6 4L9.5 7v1h-3v3.5h-1V8h-3V7l2.1-2z" />
</svg>`;
