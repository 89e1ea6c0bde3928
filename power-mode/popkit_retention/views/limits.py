"""What people read of their plan's limits: how full each window is, when it will be full, and what used it. Data in, lines out. Pure but
for the time zone."""

from __future__ import annotations

import os

from hooks.utils import text
from hooks.utils.views import bill, limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..bill.windows import Part, Took

USED = {"read": "read from the cache", "written": "written to the cache", "output": "output", "plain": "input, not cached"}
_MOST_PARTS = 8
_ASIDE = 16  # columns before the words of a row
_ID = 8  # characters of a session's id
NONE = (
    "No reading of a limit is kept. Claude Code 2.1.287 or later reports them with a subscription, and PopKit keeps them while a session"
    " runs there."
)
_UNKNOWN = (
    "These are tokens of this machine's sessions. The provider does not say how it counts each kind of token toward a window, so no"
    " share is a share of the limit."
)
SOURCES = {
    "conversation": "the conversation, as it is sent with each request",
    "standing": "what stands before the first word",
    "pauses": "written to the cache again after a pause",
    "lost": "written to the cache again for another reason",
    "output": "output and thinking",
    "subagents": "subagents, all of theirs",
}
_FITTED = {
    "plain": "a million tokens of input, not cached", "read": "a million tokens read from the cache",
    "write_5m": "a million tokens written to the cache for 5 minutes", "write_1h": "a million tokens written to the cache for an hour",
    "output": "a million tokens of output",
    "cold_5m": "a cache of 100k tokens, kept for 5 minutes, that went cold",
    "cold_1h": "a cache of 100k tokens, kept for an hour, that went cold",
}  # fmt: skip


def lines_of(found: dict[str, Any], now: float) -> list[text.Line]:
    """Return the windows, then for each of known length what used it."""
    lines = text.title("Limits of your plan")
    if not found["windows"]:
        was = found["last_reading_at"]
        ended = "" if was is None else f" The last one, of {limits.clock(was, now)}, is of a window that has been reset since."
        return [*lines, *(text.wrap(NONE) if was is None else text.wrap("No window runs now." + ended))]
    for window in found["windows"]:
        lines += text.pair(limits.NAMES[window["kind"]], _window(window, now))
    took = [window for window in found["windows"] if window["took"] is not None]
    for window in took:
        since = limits.clock(window["began"], now)
        lines += ["", *text.wrap(f"{limits.NAMES[window['kind']]}, since {since}: {_whole(window['took'])}")]
        lines += [*_rows(window["took"]), *_fit(window["fit"])]
    return [*lines, "", *text.wrap(_UNKNOWN)] if took else lines


def _window(window: dict[str, Any], now: float) -> str:
    pace, full, resets = window["percent_per_hour"], window["full_at"], window["resets_at"]
    said = [limits.percent(window["percent"]) + " used"]
    said.append("too few readings for a pace" if pace is None else f"{pace:.1f} % an hour")
    if full is not None and window["percent"] < 100:
        said.append(f"full {limits.when(full, now)}")
    said.append(f"resets {limits.when(resets, now)}" if resets else "nobody says when it resets")
    if now - window["at"] >= 60:
        said.append(f"read {text.span(now - window['at'])} ago")
    return ", ".join(said)


def _whole(took: Took) -> str:
    return "no request on this machine" if not took["tokens"] else f"{_short(took['tokens'])} tokens"


def _rows(took: Took) -> list[text.Line]:
    whole = took["tokens"]
    if not whole:
        return []
    by_kind = sorted(((took["used"][kind], words) for kind, words in USED.items()), key=lambda row: -row[0])  # type: ignore[literal-required]
    lines = [_row(tokens, tokens / whole, words) for tokens, words in by_kind if tokens]
    lines.append("")
    for name, words in SOURCES.items():
        tokens = took["sources"][name]
        lines += [_row(tokens, tokens / whole, words)] if tokens else []
        lines += _kinds(took) if name == "conversation" else []
    lines.append("")
    shown = took["parts"][:_MOST_PARTS]
    lines += [_row(part["tokens"], part["share"], _named(part)) for part in shown]
    rest = took["parts"][_MOST_PARTS:]
    if rest:
        tokens = sum(part["tokens"] for part in rest)
        lines.append(_row(tokens, tokens / whole, f"in {len(rest):,} more"))
    return lines


def _kinds(took: Took) -> list[text.Line]:
    """Return what the conversation was made of."""
    shown, rest = took["kinds"][: bill.MOST_KINDS], took["kinds"][bill.MOST_KINDS :]
    lines = [_row(row["tokens"], row["tokens"] / took["tokens"], bill.kind_words(row), "  ") for row in shown if row["tokens"]]
    if rest:
        tokens = sum(row["tokens"] for row in rest)
        lines.append(_row(tokens, tokens / took["tokens"], f"{len(rest):,} more: popkit limits --json", "  "))
    return lines


def _fit(fit: dict[str, Any]) -> list[text.Line]:
    """Return what tokens are worth in a window, as far as one's own history shows it."""
    lacks = limits.lacking(fit)
    if lacks:
        return ["", *text.wrap(lacks)]
    lines: list[text.Line] = []
    for model, worth in fit["worth"].items():
        claimed = [(words, worth[name]) for name, words in _FITTED.items() if worth[name] and worth[name]["claimed"]]
        lines += (
            [text.fitted(text.clean(model) + ":"), *[line for words, found in claimed for line in _worth(words, found)]] if claimed else []
        )
    return ["", *text.wrap(f"Worth in the {limits.NAMES[fit['window']]} window, fitted to {limits.blocks(fit)} of yours:"), *lines]


def _worth(words: str, found: dict[str, float]) -> list[text.Line]:
    return text.wrap(f"~{limits.with_error(found['percent'], found['error'])}: {words}", indent="    ")


def _named(part: Part) -> str:
    folder = os.path.basename(part["cwd"].rstrip("/")) or "no folder"
    used = part["used"]
    return (
        f"{text.clean(folder)} {text.clean(part['session'][:_ID])}{', subagents' if part['subagents'] else ''}"
        f" (output {_short(used['output'])}, written {_short(used['written'])})"
    )


def _row(tokens: int, share: float, words: str, indent: str = "") -> text.Line:
    shown = f"{share:.0%}" if share >= 0.005 else "<1%"
    head = f"{_short(tokens):>8}{shown:>6}  "

    def lines(columns: int) -> list[str]:
        first, *rest = text.wrapped(indent + words, max(10, columns - _ASIDE), indent)
        return [head + first, *(" " * _ASIDE + line for line in rest)]

    return lines


def _short(tokens: int) -> str:
    return text.tokens(tokens).lstrip("~")
