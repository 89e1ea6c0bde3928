"""The verdict of a report (policy/verdict.py) in words. Pure."""

from __future__ import annotations

from .. import text, units
from ..hosts import KEEPS
from .phrases import RESUMED, no_results, saves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..policy.shapes import Verdict
    from .shapes import Report


def verdict(report: Report) -> str:
    """Return the verdict of a report (policy/verdict.py) as one sentence: what to do now."""
    advice = report["verdict"]
    return _VERDICTS[advice["kind"]](advice, report)


def notice(report: Report) -> str:
    """Return the same as an unprompted notice: an action to take now, but not advice to wait."""
    advice = report["verdict"]
    return _full(advice, report) if advice["kind"] == "wait" else verdict(report)


def _clear_now(advice: Verdict, report: Report) -> str:
    context = report["context"]
    is_cold = context is not None and not context["cache_seconds_left"]
    why = "the cache is cold, so " if is_cold and (advice["usd"] or not advice["pays_after"]) else ""
    tokens = units.short_tokens(advice["tokens"])
    return f"Clear now: {why}{tokens} leave{_price(advice)}{_thinking(advice)}"


def _wait(advice: Verdict, _report: Report) -> str:
    wait, tokens = units.countdown(advice["wait_s"] or 0), units.tokens(advice["tokens"])
    return f"Not yet: in {wait} the cache is cold, then {tokens} leave{_price(advice)}{_thinking(advice)}"


def _full(advice: Verdict, _report: Report) -> str:
    if advice["wait_s"] is None:
        return "Full, and little to clear: /compact (what is dead goes first)"
    tokens = units.tokens(advice["tokens"])
    return f"Full: /compact (what is dead goes first); in {units.countdown(advice['wait_s'])} a clear takes {tokens}"


def _noted(advice: Verdict, _report: Report) -> str:
    return f"A clear is noted: {units.short_tokens(advice['tokens'])} leave {RESUMED}"


def _returning(advice: Verdict, _report: Report) -> str:
    comes = "comes" if advice["items"] == 1 else "come"
    return f"A way back is noted: {units.counted(advice['items'], 'content')} {comes} back {RESUMED}"


def _nothing(advice: Verdict, report: Report) -> str:
    if not report["results"]:
        why = no_results(report)
    elif KEEPS in report["doubt"]:
        why = text.clean(report["doubt"])
    elif report["doubt"]:
        why = f"PopKit leaves this transcript alone, because it does not understand it ({text.clean(report['doubt'])})"
    elif advice["tokens"]:
        why = f"a clear would take only {units.short_tokens(advice['tokens'])}"
    elif advice["expired"]:
        many = f"none of the {advice['expired']:,} expired results is" if advice["expired"] > 1 else "the expired result is not"
        why = many + " worth clearing"
    else:
        why = "everything in the context is worth keeping"
    return "Nothing to do: " + why


_VERDICTS = {
    "clear": _clear_now, "wait": _wait, "full": _full, "noted": _noted, "returning": _returning, "nothing": _nothing,
}  # fmt: skip


def _price(advice: Verdict) -> str:
    if advice["pays_after"] and not advice["usd"]:
        return f", pays after {units.counted(advice['pays_after'], 'request')}"
    return saves(advice["usd"])


def _thinking(advice: Verdict) -> str:
    return f" (with {units.tokens(advice['thinking'])} of reasoning)" if advice["thinking"] else ""
