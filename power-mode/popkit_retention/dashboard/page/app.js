// The page: its head with the views, the view that the address names, and what it says when the connection is lost.

import { html, render, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { holdUntil, useAnswer } from "./answers.js";
import { hurry, start } from "./changes.js";
import { moment } from "./format.js";
import { useLive } from "./live.js";
import { Patterns } from "./palette.js";
import { Operations } from "./parts/operations.js";
import { useRoute, VIEWS } from "./route.js";
import { Bill } from "./views/bill.js";
import { Budgets } from "./views/budgets.js";
import { Memory } from "./views/memory.js";
import { Retention } from "./views/retention.js";
import { Sessions } from "./views/sessions.js";
import { Stats } from "./views/stats.js";

const SHOWN = { sessions: Sessions, memory: Memory, retention: Retention, budgets: Budgets, bill: Bill, stats: Stats };

function App() {
  const { view, id } = useRoute();
  const { data: me } = useAnswer("/api/me");
  const there = VIEWS.filter(([name]) => !me || me.views.includes(name)); // an installation may lack some
  const main = useRef(null);
  const first = useRef(true);
  useEffect(() => {
    // A screen reader goes on where the new view begins; the first one begins by itself.
    if (!first.current) main.current.querySelector("h1")?.focus({ preventScroll: true });
    if (!first.current) scrollTo(0, 0);
    first.current = false;
  }, [view, id]);
  const skip = (event) => {
    event.preventDefault(); // the part behind # names a view
    main.current.focus();
  };
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <${Patterns} />
    <header class="top">
      <a class="brand" href="#/sessions"><img src="icon.svg" alt="" width="22" height="22" />PopKit</a>
      <nav aria-label="Views">
        ${there.map(([name, words]) => html`<a key=${name} href=${`#/${name}`} aria-current=${name === view ? "page" : null}>${words}</a>`)}
      </nav>
      <${Connection} />
      <${Theme} />
    </header>
    <${Stale} />
    <main id="main" ref=${main} tabindex="-1"><${SHOWN[view]} id=${id} /></main>
    <${Foot} />
    <${Operations} />`;
}

const PHASES = { connecting: "Connecting", live: "Live", lost: "Not connected", locked: "Not connected" };

function Connection() {
  const { phase } = useLive();
  return html`<span class=${`connection connection-${phase}`} role="status">
    <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true"><circle cx="5" cy="5" r=${phase === "live" ? 4.5 : 3.75} /></svg>
    <span>${PHASES[phase]}</span>
  </span>`;
}

/** What is shown is old: since when, and what to do. */
function Stale() {
  const { phase, since } = useLive();
  if (phase !== "lost" && phase !== "locked") return html`<div role="alert"></div>`;
  const seen = html`What you see is from <time datetime=${new Date(since * 1000).toISOString()}>${moment(since)}</time>.`;
  return html`<div role="alert"><div class="stale">
    <p>
      ${
        phase === "locked"
          ? html`The dashboard was restarted, so this page can no longer connect. Open the new address that${" "}
            <code>popkit dashboard</code> printed. ${seen}`
          : html`<strong>The connection is lost.</strong> ${seen} It reconnects automatically once${" "}
            <code>popkit dashboard</code> is running.`
      }
    </p>
    ${phase === "lost" && html`<button type="button" class="button" onClick=${hurry}>Try now</button>`}
  </div></div>`;
}

const NEXT = { "": "dark", dark: "light", light: "" };
const SCHEMES = { "": "Colours: system", dark: "Colours: dark", light: "Colours: light" };

function Theme() {
  const root = document.documentElement;
  const [scheme, set] = useState(root.dataset.theme ?? "");
  const change = () => {
    const next = NEXT[scheme];
    if (next) root.dataset.theme = next;
    else delete root.dataset.theme;
    try {
      localStorage.setItem("popkit-theme", next);
    } catch {
      // It holds for this page alone.
    }
    set(next);
  };
  return html`<button type="button" class="button button-quiet theme" onClick=${change} title=${`${SCHEMES[scheme]}. Change`}>
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><circle cx="8" cy="8" r="6.5" class="theme-ring" /><path
      d="M8 1.5a6.5 6.5 0 0 1 0 13z" /></svg>
    <span class="unseen">${SCHEMES[scheme]}. Change</span>
  </button>`;
}

function Foot() {
  const { data } = useAnswer("/api/me");
  return html`<footer class="foot">
    ${data && html`PopKit ${data.version} · ${data.home} · usage in ${data.database}${data.shared ? ", shared" : ""}`}
  </footer>`;
}

holdUntil(start());
const root = document.getElementById("app");
root.textContent = "";
render(html`<${App} />`, root);
