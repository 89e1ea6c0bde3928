"""A verdict (policy/verdict.py) as one sentence: what to do now. Pure."""

from __future__ import annotations

from .. import text


def in_words(report: dict) -> str:
    """The sentence for the verdict of a report."""
    said = report["verdict"]
    return _SENTENCES[said["kind"]](said, report)


def unasked(report: dict) -> str:
    """The same for somebody who has not asked: what to do now, never to wait."""
    said = report["verdict"]
    return _full(said, report) if said["kind"] == "wait" else in_words(report)


def _clear(said: dict, _report: dict) -> str:
    return f"Clear now: {text.tokens(said['tokens'])} leave{_price(said)}{_thinking(said)}"


def _wait(said: dict, _report: dict) -> str:
    wait, tokens = text.countdown(said["wait_s"]), text.tokens(said["tokens"])
    return f"Not yet: in {wait} the cache is cold, then {tokens} leave{_price(said)}{_thinking(said)}"


def _full(said: dict, _report: dict) -> str:
    if said["wait_s"] is None:
        return "Full, and little to clear: /compact (what is dead goes first)"
    tokens = text.tokens(said["tokens"])
    return f"Full: /compact (what is dead goes first); in {text.countdown(said['wait_s'])} a clear takes {tokens}"


def _resume(said: dict, report: dict) -> str:
    return f"Type /resume {text.clean(report['session'])} if you have not yet: {text.short_tokens(said['tokens'])} were cleared"


def _nothing(said: dict, report: dict) -> str:
    if not report["results"]:
        why = "there are no tool results yet"
    elif report["doubt"]:
        why = f"PopKit leaves this transcript alone, because it does not understand it ({text.clean(report['doubt'])})"
    elif said["tokens"]:
        why = f"a clear would take only {text.short_tokens(said['tokens'])}"
    elif said["expired"]:
        many = f"none of the {said['expired']:,} expired results is" if said["expired"] > 1 else "the expired result is not"
        why = many + " worth clearing"
    else:
        why = "everything in the context is worth keeping"
    return "Nothing to do: " + why


_SENTENCES = {"clear": _clear, "wait": _wait, "full": _full, "resume": _resume, "nothing": _nothing}


def _price(said: dict) -> str:
    return f", pays after {text.counted(said['pays_after'], 'request')}" if said["pays_after"] else " for free"


def _thinking(said: dict) -> str:
    return f" (with {text.tokens(said['thinking'])} of reasoning)" if said["thinking"] else ""
