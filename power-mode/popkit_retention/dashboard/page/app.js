// The page: its head with the views, the view that the address names, and what it says when the connection is lost.

import { html, render, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { holdUntil, useAnswer } from "./answers.js";
import { hurry, start } from "./changes.js";
import { moment } from "./format.js";
import { useLive } from "./live.js";
import { Patterns } from "./palette.js";
import { Operations } from "./parts/operations.js";
import { Problem } from "./parts/states.js";
import { TILES, useRoute } from "./route.js";
import { Sessions } from "./views/sessions.js";

const shown = new Map([["sessions", Sessions]]); // the name of a view -> what draws it
const LINKS = [["sessions", "Sessions"], ...TILES.map(({ name, title }) => [name, title])];

function App() {
  const { view, id } = useRoute();
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
        ${LINKS.map(([name, words]) => html`<a key=${name} href=${`#/${name}`} aria-current=${name === view ? "page" : null}>${words}</a>`)}
      </nav>
      <${Connection} />
      <${Theme} />
    </header>
    <${Stale} />
    <main id="main" ref=${main} tabindex="-1"><${shown.get(view)} id=${id} /></main>
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
  const usage = data?.database && html` · usage in ${data.database}${data.shared ? ", shared" : ""}`;
  return html`<footer class="foot">${data && html`PopKit ${data.version} · ${data.home}${usage}`}</footer>`;
}

/** What stands in the place of a view whose module is missing or broken. */
const unloaded = (title) => () =>
  html`<div class="view">
    <div class="view-head"><h1 tabindex="-1">${title}</h1></div>
    <${Problem} error=${{ message: "A file of this view is missing or broken." }} again=${() => location.reload()} />
  </div>`;

async function load({ name, title, module }) {
  shown.set(name, await import(module).then(({ default: view }) => view ?? unloaded(title), () => unloaded(title)));
}

holdUntil(start());
await Promise.all(TILES.map(load));
const root = document.getElementById("app");
root.textContent = "";
render(html`<${App} />`, root);
