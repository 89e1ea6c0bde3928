// Numbers and times as the panel of the terminal says them (hooks/utils/units.py): a test holds both to the digit.

// Python rounds exact halves to the even neighbour and toFixed() away from zero. A half with this many digits is a multiple of a power
// of two, so that it can be told from its neighbours exactly.
function fixed(number, digits) {
  const half = digits === 0 ? number * 2 : number * 4;
  if (!Number.isInteger(half) || half % 2 === 0) return number.toFixed(digits);
  const below = Math.floor(number * 10 ** digits);
  return ((below % 2 === 0 ? below : below + 1) / 10 ** digits).toFixed(digits);
}

const rounded = (number) => Number(fixed(number, 0));
const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** 14,339 */
export const whole = (number) => grouped.format(rounded(number));

/** An estimate in a table: ~820, ~1.2k, ~15k, ~1.3M; 0 is 0. */
export function tokens(number) {
  const count = rounded(number);
  if (count < 1) return "0";
  if (count < 1000) return `~${count}`;
  for (const [size, unit] of [
    [1e3, "k"],
    [1e6, "M"],
    [1e9, "G"],
  ]) {
    const scaled = count / size;
    if (scaled < 9.95) return `~${fixed(scaled, 1)}${unit}`;
    if (scaled < 999.5) return `~${fixed(scaled, 0)}${unit}`;
  }
  return `~${count}`;
}

/** An estimate in a sentence: ~15,200 tokens. */
export function longTokens(number) {
  const count = toThreeFigures(number);
  return `~${grouped.format(count)} token${count === 1 ? "" : "s"}`;
}

function toThreeFigures(number) {
  const count = rounded(number);
  const step = 10 ** Math.max(0, String(Math.abs(count)).length - 3);
  const below = Math.floor(count / step) * step;
  const over = count - below;
  const up = over * 2 === step ? (below / step) % 2 === 1 : over * 2 > step;
  return up ? below + step : below;
}

/** 1 result, 2 results */
export function counted(number, noun) {
  if (number === 1) return `1 ${noun}`;
  return `${whole(number)} ${noun}${/(ch|sh|s)$/.test(noun) ? "es" : "s"}`;
}

/** A share: 12%. More than nothing is never 0%, less than all never 100%. */
export function percent(ratio) {
  const words = `${fixed(ratio * 100, 0)}%`;
  if (words === "0%" && ratio) return "<1%";
  return words === "100%" && ratio < 1 ? "99%" : words;
}

/** A stretch of time: 45 s, 12 min, 3 h, 2 days. */
export function span(seconds) {
  const all = Math.max(0, rounded(seconds));
  if (all < 120) return `${all} s`;
  if (all < 7200) return `${Math.floor(all / 60)} min`;
  return all < 172800 ? `${Math.floor(all / 3600)} h` : `${Math.floor(all / 86400)} days`;
}

/** A time to wait: 45 s, 4 min 30 s, 12 min, 1 h 5 min. */
export function countdown(seconds) {
  const all = Math.max(0, rounded(seconds));
  const [minutes, rest] = [Math.floor(all / 60), all % 60];
  if (minutes < 1) return `${all} s`;
  if (minutes < 10) return `${minutes} min${rest ? ` ${rest} s` : ""}`;
  const [hours, over] = [Math.floor(minutes / 60), minutes % 60];
  if (!hours) return `${minutes} min`;
  return `${hours} h${over ? ` ${over} min` : ""}`;
}

/** 820 bytes, 1.2 kB, 15 kB, 1.3 MB */
export function size(bytes) {
  if (bytes < 1000) return counted(bytes, "byte");
  return tokens(bytes)
    .slice(1)
    .replace(/[kMG]$/, (unit) => ` ${unit}B`);
}

const CENTS = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });

/** $12.34 */
export const usd = (dollars) => CENTS.format(dollars);

function plain(dollars) {
  const sign = dollars < 0 ? "-" : "";
  const amount = Math.abs(dollars);
  for (const [size, unit] of [
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ]) {
    if (amount >= 9999.5 && amount >= size * 0.9995) return `${sign}$${threeFigures(amount / size)}${unit}`;
  }
  if (amount >= 99.995) return `${sign}$${whole(amount)}`;
  if (amount >= 0.0095) return `${sign}$${amount.toFixed(2)}`;
  return amount >= 0.0005 ? `${sign}$${amount.toFixed(3)}` : "$0.00";
}

const threeFigures = (number) => fixed(number, number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2);

/** $12.34, $0.003, $12.3k; with its sign where it is a net; "-" where no price is known. As views/amounts.py says it. */
export function money(dollars, signed = false) {
  if (dollars === null || dollars === undefined) return "-";
  const amount = plain(dollars);
  return signed && dollars > 0 && amount !== "$0.00" ? `+${amount}` : amount;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** 14:05 */
export const clock = (seconds) => CLOCK.format(seconds * 1000);
/** 3 Nov 2026 */
export const date = (seconds) => DATE.format(seconds * 1000);
/** 3 Nov 14:05 */
export const moment = (seconds) => `${DAY.format(seconds * 1000)} ${clock(seconds)}`;
/** 3 Nov, of 2026-11-03 */
export const dayOf = (day) => DAY.format(new Date(`${day}T12:00:00`));

/** How long ago: now, 45 s ago, 3 h ago. */
export function ago(seconds, now) {
  const gone = now - seconds;
  return gone < 10 ? "just now" : `${span(gone)} ago`;
}

/** The last part of a path, which is what people call a project. */
export const baseName = (path) =>
  path
    .replace(/[/\\]+$/, "")
    .split(/[/\\]/)
    .pop() || path;
/** A word as a shell takes it. */
export const quoted = (word) => (/[^\w./~-]/.test(word) ? `'${word.replaceAll("'", "'\\''")}'` : word);
/** What people call a session: its title; of one that a database tells of, whose it is; else when something last happened in it. */
export const titleOf = ({ title, user, changed_at: at }) => title || `${user ? `${user}’s session` : "Untitled session"}, ${moment(at)}`;
/** The agent that a session is of, where that is not Claude Code. */
export const elsewhere = ({ host }) => (host === "Claude Code" ? "" : host);
/** A model as people call it: Opus 4.6, of claude-opus-4-6. */
export function modelOf(id) {
  const [, family, version] = /^claude-([a-z]+)-(\d+(?:-\d{1,2})?)(?:-\d{8})?(?:\[1m\])?$/.exec(id) ?? [];
  return family ? `${capital(family)} ${version.replace("-", ".")}` : id;
}
/** Words with their first letter large. */
export const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);
/** Words as a sentence: a capital letter, and a full stop unless they end with a mark. */
export const sentence = (words) => capital(words.trim()) + (/[.!?…]$/.test(words.trim()) ? "" : ".");
