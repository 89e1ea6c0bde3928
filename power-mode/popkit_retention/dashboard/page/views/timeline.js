// The results of a session as bars, from the call that they came with to the one that ended them. A bar opens the reasons beside it.

import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";
import { capital, counted, longTokens, tokens } from "../format.js";
import { CLEARED, expiredFill, fillOf, Legend, TIERS } from "../palette.js";
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
  all: "No tool results in this context yet",
  live: "No live results",
  expired: "No expired results",
  cleared: "No cleared results",
  takes: "Clearing now would free nothing",
};
const STATES = { live: "live", expired: "expired, still in the context", cleared: "cleared: a placeholder is left" };

export function Timeline({ bars, calls, base, deeds, stamp }) {
  const [state, choose] = useState("all");
  const [everything, show] = useState(false);
  const [opened, open] = useState(null);
  const list = useRef(null);
  const chosen = useMemo(() => bars.filter(CHOICES[state]), [bars, state]);
  const shown = everything ? chosen : chosen.slice(-FEW);
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
      ...TIERS.filter((tier) => bars.some((bar) => bar.tier === tier)).map((tier) => [capital(tier), fillOf(tier)]),
      ["Expired, still in the context", expiredFill("any")],
      ["Cleared", CLEARED],
    ]} />
    <div class=${opened === null ? "timeline" : "timeline has-why"}>
      <div>
        ${
          chosen.length
            ? html`<${Bars} bars=${shown} calls=${calls} opened=${opened} open=${open} list=${list} />`
            : html`<${Empty} title=${NONE[state]}>
              ${state === "all" ? "Each result of a tool gets a bar here." : "Choose All to see every result."}
            <//>`
        }
        ${
          chosen.length > FEW &&
          html`<button type="button" class="button more" onClick=${() => show(!everything)}>
          ${everything ? `Show the newest ${FEW}` : `Show all ${counted(chosen.length, "result")}`}
        </button>`
        }
      </div>
      ${opened !== null && html`<${Why} key=${opened} number=${opened} base=${base} deeds=${deeds} stamp=${stamp} close=${close} />`}
    </div>
  <//>`;
}

function Bars({ bars, calls, opened, open, list }) {
  const [at, move] = useState(bars[bars.length - 1].number);
  const first = bars.reduce((low, bar) => Math.min(low, bar.from_call), bars[0].from_call);
  const last = Math.max(calls, bars[bars.length - 1].from_call);
  const current = bars.some(({ number }) => number === at) ? at : bars[bars.length - 1].number;
  const walk = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -bars.length, End: bars.length }[event.key];
    if (event.key === "Escape" && opened !== null) open(null);
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
        opened=${bar.number === opened} open=${open} />`,
      )}
    </ol>`;
}

function Bar({ bar, first, last, reachable, opened, open }) {
  const spoken =
    `T${bar.number} ${bar.label}, ${bar.tier}, ${STATES[bar.state]}, ${longTokens(bar.tokens)}${bar.pinned ? ", pinned" : ""}` +
    `${bar.note ? `, ${bar.note}` : ""}. Why?`;
  return useMemo(
    () => html`<li>
    <button type="button" class=${`bar-row bar-${bar.state}`} data-number=${bar.number} tabindex=${reachable ? 0 : -1}
      aria-expanded=${String(opened)}
      aria-label=${spoken} onClick=${() => open(opened ? null : bar.number)}>
      <span class="bar-number">T${bar.number}</span>
      <span class="bar-label">${bar.pinned && html`<${Pin} />`}${bar.label}</span>
      <span class="bar-tokens figure">${tokens(bar.tokens)}</span>
      <${Life} bar=${bar} first=${first} last=${last} />
      <span class="bar-note">${bar.note}${bar.entered_smaller ? ` · ${tokens(bar.entered_smaller)} did not enter` : ""}</span>
    </button>
  </li>`,
    [bar, first, last, reachable, opened],
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
      html`<rect class=${`life-expired line-${bar.tier}`} x=${`${end}%`} y="1.5"
      width=${`${100 - end}%`} height="9" fill=${expiredFill(bar.tier)} />`
    }
    ${
      bar.state === "cleared" &&
      end < 100 &&
      html`<line class=${`life-cleared line-${bar.tier}`} x1=${`${end}%`} x2="100%" y1="6"
      y2="6" />`
    }
    <rect class=${`life-live life-live-${bar.state}`} x=${`${from}%`} width=${`${Math.max(0.8, end - from)}%`} height="12" rx="1.5"
      fill=${fillOf(bar.tier)} />
  </svg>`;
}

const Pin = () => html`<svg class="pin" viewBox="0 0 12 12" width="11" height="11" aria-hidden="true">
  <path d="M4 1h4l-.6 4L9.5 7v1h-3v3.5h-1V8h-3V7l2.1-2z" />
</svg>`;
