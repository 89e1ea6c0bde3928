// Where the focus goes when what had it leaves the page: a keyboard would begin at the top again.

const LOOKED_MS = 100;
const LONGEST_MS = 60_000; // an answer that draws something else in its place may take so long

const heading = () => document.querySelector("#session-title") ?? document.querySelector("main h1");

/** Gives the focus to the heading of what is looked at. */
export const toHeading = () => heading()?.focus({ preventScroll: true });

/** Once an element that had the focus has gone, and nothing has it: a button beside where it was gets it, else the heading. */
export function afterIt(element) {
  const beside = element?.parentElement?.closest(".operations");
  const timer = setInterval(() => {
    if (element?.isConnected || document.querySelector("dialog[open]")) return;
    clearInterval(timer);
    if (document.activeElement && document.activeElement !== document.body) return; // somebody has taken it on
    const next = beside?.isConnected && beside.querySelector("button");
    if (next) next.focus({ preventScroll: true });
    else toHeading();
  }, LOOKED_MS);
  setTimeout(() => clearInterval(timer), LONGEST_MS);
}
