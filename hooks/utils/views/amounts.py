"""Amounts as people read them: how full the windows of the plan's limits are, what was kept out and cleared in tokens, what that cost and
saved in money (policy/figures.py). Data in, words out. Pure but for the time zone.

Money is what the API takes, which a subscription does not pay: it is said to be API-equivalent.
"""

from __future__ import annotations

import time

from .. import text
from ..policy.limits import FIVE_HOUR, SEVEN_DAY, SPEND_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from ..policy.limits import Window
    from ..policy.shapes import Figures, LedgerFigures

NAMES = {FIVE_HOUR: "5 h", SEVEN_DAY: "7 d", SPEND_LIMIT: "spend"}
SHOWN_S = 3_600.0  # an older reading says little about now
_DAY_S = 86_400
# The sources of tokens in a window (`popkit bill limits --json`) -> a short name.
_TOOK = {
    "conversation": "conversation", "standing": "before the first word", "pauses": "caches gone cold",
    "lost": "other lost caches", "output": "output", "subagents": "subagents",
}  # fmt: skip
_LEAST_SHARE = 0.005
# The causes of costs and of savings -> what people call them.
CAUSES = (
    ("rewrite", "cache rewrites"),
    ("restores", "restores"),
    ("refetches", "fetched again"),
    ("advice", "our own text"),
    ("memory", "memory"),
    ("compactions", "compactions"),
)
GAINS = (("kept_out", "smaller results"), ("cleared", "clears"), ("memory", "memory"), ("compactions", "compactions"))
RARE = ("memory", "compactions")  # of both: shown where there is anything
# What compactions are worth beside those of Claude Code, by part (policy/ledger.py) -> what people call it, and how it is known.
COMPACTION_PARTS = (
    ("request", "requests", "measured"),
    ("summary", "summaries", "assumed"),
    ("writes", "writing", "ours measured"),
    ("carries", "carrying", "ours measured"),
)
_PERIODS = (("yesterday", "Since yesterday", "1 day"), ("week", "Last 7 days", "7 days"), ("installed", "Since installed", "All"))
_NAME = 16  # columns before the periods
_LEAST = 16  # columns of a period with its whole title
_NO_MONEY = "-"
_NO_PRICE = "no price is known"
_WHOLE = 1_000_000  # from here on a number is shown with three figures


# --- the limits of the plan ---


def limits_line(windows: Iterable[Window], now: float) -> str:
    """Return `5 h 62 %, full at 16:40 · 7 d 31 %`; "" where there is no reading of the last hour."""
    return " · ".join(_window_in_short(window, now) for window in windows if abs(now - window.newest.at) <= SHOWN_S)


def _window_in_short(window: Window, now: float) -> str:
    newest = window.newest
    used = f"{NAMES[newest.kind]} {percent(newest.percent)}"
    if newest.percent >= 100:
        return used + (f", resets {when(newest.resets_at, now)}" if newest.resets_at else "")
    return used + (f", full {when(window.full_at, now)}" if window.full_at is not None else "")


def percent(used: float) -> str:
    """Return whole percent; what is not full is never shown as 100 %."""
    return f"{int(used)} %" if 99 <= used < 100 else f"{used:.0f} %"


def clock(at: float, now: float) -> str:
    """Return a time of day, with the day where that is not today: 16:40, Thu 16:40, 2026-12-01."""
    then = time.localtime(at)
    if then[:3] == time.localtime(now)[:3]:
        return time.strftime("%H:%M", then)
    return time.strftime("%a %H:%M" if abs(at - now) < 6 * _DAY_S else "%Y-%m-%d", then)


def when(at: float, now: float) -> str:
    """Return the same as a sentence says it: at 16:40, Thu 16:40, 2026-12-01."""
    words = clock(at, now)
    return "at " + words if len(words) == len("16:40") else words


# --- the limits in the pane ---


def limits_pane_lines(limits: dict[str, Any], now: float) -> list[text.Line]:
    """Return how full each window is and at which pace, and what took it; [] where no window runs. `limits`: what `popkit bill limits
    --json` prints."""
    lines: list[text.Line] = []
    for window in limits.get("windows", ()):
        lines += text.pair(NAMES[window["kind"]], _window_words(window, now))
        lines += text.pair("", _took(window["took"])) if window["took"] and window["took"]["tokens"] else []
    return [*text.title("Limits of your plan")[1:], *lines] if lines else []


def _window_words(window: dict[str, Any], now: float) -> str:
    parts = [percent(window["percent"])]
    if window["full_at"] is not None and window["percent"] < 100:
        parts.append(f"full {when(window['full_at'], now)}")
    if window["percent_per_hour"] is not None:
        parts.append(f"{window['percent_per_hour']:.1f} % an hour")
    return ", ".join([*parts, *([f"resets {when(window['resets_at'], now)}"] if window["resets_at"] else [])])


def _took(took: dict[str, Any]) -> str:
    shares = sorted(((tokens / took["tokens"], name) for name, tokens in took["sources"].items()), reverse=True)
    return "Tokens: " + ", ".join(f"{_TOOK.get(name, name)} {share:.0%}" for share, name in shares if share >= _LEAST_SHARE)


# --- the ledger ---


def ledger_in_words(figures: LedgerFigures) -> str:
    """Return the figures of a session's ledger in a sentence; they are not empty."""
    parts = []
    if figures["kept_out_tokens"]:
        parts.append(f"kept out {text.long_tokens(figures['kept_out_tokens'])}")
    if figures["cleared_tokens"]:
        parts.append(f"cleared {figures['cleared_tokens']:,} tokens")
    if figures["pending_tokens"]:
        parts.append(f"{text.long_tokens(figures['pending_tokens'])} cleared, not counted until a request shows it")
    if figures["spared"]:
        parts.append(f"memory spared ~{text.counted(figures['spared'], 'look-up')}")
    if figures["cost_usd"] or figures["saved_usd"] or figures["unpriced"]:
        parts += _money(figures)
    return "This session: " + (", ".join(parts) or "nothing kept out or cleared")


def _money(figures: Figures) -> list[str]:
    if figures["cost_usd"] is None:
        return [f"cost and net unknown ({_NO_PRICE} for its model)"]
    part = " (without requests whose price is not known)" if figures["unpriced"] else ""
    return [f"cost {usd(figures['cost_usd'])}", f"net {usd(figures['net_usd'], True)}{part}"]


def headline(worth: Mapping[str, Figures]) -> str:
    """Return the one number: the net since PopKit was installed."""
    from ..policy import figures

    installed = worth["installed"]
    if not figures.is_anything(installed):
        return "Net: PopKit has saved and cost nothing yet"
    if installed["net_usd"] is None:
        return f"Net: {_NO_PRICE} for the models that were used"
    return f"Net {usd(installed['net_usd'], True)} since installed (API-equivalent)"


def ledger_table(worth: Mapping[str, Figures]) -> list[text.Line]:
    """Return a row for each quantity, and for each way to save; a column for each period. The money adds up: saved, less the cost, is the
    net. Memory, which is off by default, and compactions have a row where they spared anything."""
    return [lambda width: _ledger_rows(worth, max(8, (width - _NAME) // len(_PERIODS)))]


def _ledger_rows(worth: Mapping[str, Figures], columns: int) -> list[str]:
    titles = [title if columns >= _LEAST else short for _, title, short in _PERIODS]
    periods = [worth[name] for name, _, _ in _PERIODS]
    rows = [
        ("Kept out", [_fitting(kept_out(each), each["kept_out_tokens"], columns) for each in periods]),
        ("Cleared", [_fitting(tokens(each["cleared_tokens"]), each["cleared_tokens"], columns) for each in periods]),
        ("Saved by", [""] * len(periods)),
    ]
    for gain, name in GAINS:
        if gain not in RARE or any(each["saved_by_usd"].get(gain) for each in periods):
            rows.append((" " + name, [usd(each["saved_by_usd"][gain]) for each in periods]))
    rows.append(("Cost", [usd(each["cost_usd"]) for each in periods]))
    rows.append(("Net", [usd(each["net_usd"], True) for each in periods]))
    named = [(f"{'':<{_NAME}}", titles), *((f"{name:<{_NAME}}", cells) for name, cells in rows)]
    return [(name + "".join(f"{cell:>{columns}}" for cell in cells)).rstrip() for name, cells in named]


def ledger_notes(worth: Mapping[str, Figures], dated: str) -> list[text.Line]:
    """Return the notes on the tokens and the money of the table; `dated`: the month of the prices, "" where it is not known."""
    when = f" of {text.cut(text.clean(dated), 20)}" if dated else ""
    words = (
        f"Kept out and cleared are tokens. Everything else is API-equivalent money, at the API's prices{when}, even if a subscription pays."
    )
    if worth["installed"]["unpriced"]:
        words += " Requests to a model whose price is not known are not in the money."
    return text.wrap(words)


def uncounted_note(sessions: int, more: str = "Ask again to include more.") -> list[text.Line]:
    """Return the note that so many sessions went on since they were counted. `more`: how to count more of them."""
    return text.wrap(f"Not included yet: what {text.counted(sessions, 'session')} did lately. {more}")


def usd(dollars: float | None, signed: bool = False) -> str:
    """Return $12.34, with its sign where it is a net; "-" where no price is known."""
    if dollars is None:
        return _NO_MONEY
    words = _dollars(dollars)
    return "+" + words if signed and dollars > 0 and words != "$0.00" else words


def tokens(number: float) -> str:
    """Return 12,345; from a million on three figures."""
    number = round(number)
    return _short(number) if abs(number) >= _WHOLE else f"{number:,}"


def kept_out(figures: Figures) -> str:
    """Return the tokens that were kept out, as an estimate."""
    return text.estimate(figures["kept_out_tokens"]) if figures["kept_out_tokens"] else "0"


def _fitting(words: str, number: float, columns: int) -> str:
    if len(words) < columns:
        return words
    return ("~" if words.startswith("~") else "") + _short(number)


def _short(amount: float) -> str:
    """Return 12k, -1.23M."""
    sign = "-" if amount < 0 else ""
    amount = abs(amount)
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if amount >= size * 0.9995:
            return f"{sign}{_three_figures(amount / size)}{unit}"
    return f"{sign}{round(amount)}"


def _three_figures(number: float) -> str:
    """Return three figures, without an exponent."""
    return f"{number:.0f}" if number >= 99.95 else f"{number:.1f}" if number >= 9.995 else f"{number:.2f}"


def _dollars(dollars: float) -> str:
    """Return at most seven columns: $12.34, -$0.003, -$123, $12.3k, $0.00."""
    sign, amount = "-" if dollars < 0 else "", abs(dollars)
    if amount >= 9_999.5:
        return f"{sign}${_short(amount)}"
    if amount >= 99.995:
        return f"{sign}${amount:,.0f}"
    if amount >= 0.0095:
        return f"{sign}${amount:.2f}"
    return f"{sign}${amount:.3f}" if amount >= 0.0005 else "$0.00"
