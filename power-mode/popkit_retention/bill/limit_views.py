"""The text of `popkit bill limits`. Pure but for the time zone."""

from __future__ import annotations

import os

from popkit_retention.core import text, units
from popkit_retention.core.views import amounts, paid_for, plan_limits

from ..views import beside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.views.shapes import Consumption, Part, PlanLimits, WindowUse


USED = {"read": "read from the cache", "written": "written to the cache", "output": "output", "plain": "input, not cached"}
_MOST_PARTS = 8
_ID = 8  # characters of a session's id
NONE = (
    "There is no reading of a limit yet. Claude Code 2.1.326 or later reports them with a subscription, and PopKit stores them while a"
    " session runs there."
)
_UNKNOWN = (
    "These are tokens of this machine's sessions. The provider does not say how it counts each kind of token toward a window, so no"
    " share is a share of the limit. Sessions are compared by what their tokens cost at the API's prices{of}."
)
SOURCES = {
    "conversation": "the conversation, as it is sent with each request",
    "standing": "everything before the first word",
    "pauses": "written to the cache again after a pause",
    "lost": "written to the cache again for another reason",
    "output": "output and thinking",
    "subagents": "all usage of subagents",
}


def windows(answer: PlanLimits, now: float) -> list[text.Line]:
    """Return the windows, then what used each window of known length."""
    lines = text.title("Limits of your plan")
    if not answer["windows"]:
        was = answer["last_reading_at"]
        ended = "" if was is None else f" The last one, of {plan_limits.clock(was, now)}, is of a window that has been reset since."
        return [*lines, *(text.wrap(NONE) if was is None else text.wrap("No window runs now." + ended))]
    for window in answer["windows"]:
        lines += text.pair(plan_limits.NAMES[window["kind"]], _window(window, now))
    has_taken = False
    for window in answer["windows"]:
        began, took = window["began"], window["took"]
        if began is None or took is None:
            continue
        has_taken = True
        since = plan_limits.clock(began, now)
        lines += ["", *text.wrap(f"{plan_limits.NAMES[window['kind']]}, since {since}: {_whole(took)}"), *_rows(took)]
    dated = answer["prices_of"]
    return [*lines, "", *text.wrap(_UNKNOWN.format(of=f" of {dated}" if dated else ""))] if has_taken else lines


def _window(window: WindowUse, now: float) -> str:
    pace, full, resets = window["percent_per_hour"], window["full_at"], window["resets_at"]
    parts = [units.percent(window["percent"] / 100) + " used"]
    parts.append("too few readings for a pace" if pace is None else f"{pace:.1f}% an hour")
    if full is not None and window["percent"] < 100:
        parts.append(f"full {plan_limits.when(full, now)}")
    parts.append(f"resets {plan_limits.when(resets, now)}" if resets else "reset time unknown")
    if now - window["at"] >= 60:
        parts.append(f"read {units.span(now - window['at'])} ago")
    return ", ".join(parts)


def _whole(took: Consumption) -> str:
    if not took["tokens"]:
        return "no request on this machine"
    return f"{_short(took['tokens'])} tokens" + (f", {amounts.usd(took['usd'])} at the API's prices" if took["usd"] else "")


def _rows(took: Consumption) -> list[text.Line]:
    whole = took["tokens"]
    if not whole:
        return []
    by_kind = sorted(((took["used"][kind], words) for kind, words in USED.items()), key=lambda row: -row[0])
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
        share = sum(part["share"] or 0.0 for part in rest)
        lines.append(_row(sum(part["tokens"] for part in rest), share if took["usd"] else None, f"in {len(rest):,} more"))
    return lines + (text.wrap(f"The price of {_short(took['unpriced'])} tokens is not known.") if took["unpriced"] else [])


def _kinds(took: Consumption) -> list[text.Line]:
    """Return the contents of the conversations, by kind."""
    shown, rest = took["kinds"][: paid_for.MOST_KINDS], took["kinds"][paid_for.MOST_KINDS :]
    lines = [_row(row["tokens"], row["tokens"] / took["tokens"], paid_for.kind_words(row), "  ") for row in shown if row["tokens"]]
    if rest:
        tokens = sum(row["tokens"] for row in rest)
        lines.append(_row(tokens, tokens / took["tokens"], f"{len(rest):,} more: popkit bill limits --json", "  "))
    return lines


def _named(part: Part) -> str:
    folder = os.path.basename(part["cwd"].rstrip("/")) or "no folder"
    used = part["used"]
    price = f"{amounts.usd(part['usd'])}, " if part["usd"] is not None else ""
    return (
        f"{text.clean(folder)} {text.clean(part['session'][:_ID])}{', subagents' if part['subagents'] else ''}"
        f" ({price}output {_short(used['output'])}, written {_short(used['written'])})"
    )


def _row(tokens: int, share: float | None, words: str, indent: str = "") -> text.Line:
    return beside(f"{_short(tokens):>8}{'-' if share is None else units.percent(share):>6}  ", words, indent)


def _short(tokens: int) -> str:
    return units.tokens(tokens).lstrip("~")
