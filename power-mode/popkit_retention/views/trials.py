"""The texts of trials: the progress of each, and the result of a finished one. Pure but for the time zone."""

from __future__ import annotations

import time

from hooks.utils import text
from hooks.utils.policy.trials import ARMS, COMPACT, MEMORY, PER_ARM, USUAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ABOUT = {
    "hints": "one sentence at a session's start: send look-ups together, and update the todo list along with other calls",
    "say_once": "results leave out what the context already shows",
    "shape": "results leave out what carries no information",
    "memory": "sessions get MEMORY.md",
    "compact": "PopKit answers compactions without a model",
}
# Notes on a trial that is started.
ONLY = {
    "say_once": "It needs Claude Code 2.1.326 or later, and only counts sessions in which PopKit's code runs.",
    "shape": "It needs Claude Code 2.1.326 or later, and only counts sessions in which PopKit's code runs.",
    "memory": "It only counts sessions of projects whose memory is on and not empty. Memory goes on learning from all sessions.",
    "compact": "It needs Claude Code 2.1.326 or later, and only counts sessions in which PopKit's code runs.",
}
_NO_SUMMARY = "The request by which Claude Code summarises a conversation is in no transcript, so no figure includes its cost."
_OUTCOMES = {"requests": ("requests", "fewer", "more"), "tokens": ("tokens", "fewer", "more"), "usd": ("money", "less", "more")}
_ASIDE = 12  # columns before the words of a row
_LEFT_OUT = {
    "no_prompt": "without an answered prompt",
    "missing": "without a transcript",
    "partial": "with usage that is not known",
}


def lines_of(trials: list[dict[str, Any]]) -> list[text.Line]:
    """Return all trials as `popkit try-out` shows them."""
    lines: list[text.Line] = text.title("Settings on trial")
    for trial in trials:
        lines += [*_LINES[trial["status"]](trial), ""]
    idle = [name for name in ARMS if not any(trial["name"] == name and trial["status"] in _ON for trial in trials)]
    if not trials:
        lines += [*text.wrap("Nothing is on trial."), ""]
    if idle:
        lines += text.wrap("To try one in every second session: popkit try-out start NAME, where NAME is")
        lines += [line for name in idle for line in text.pair("  " + name, ABOUT[name], _ASIDE)]
    return lines


def _running(trial: dict[str, Any]) -> list[text.Line]:
    name = trial["name"]
    since = f" since {_day(trial['began'])}" if trial["began"] else ""
    head = f"{name}: on trial{since}" if trial["status"] == "running" else f"{name}: paused, because your configuration does not try it now"
    lines = text.wrap(head)
    for arm in trial["arms"].values():
        lines += text.wrap(f"  {_value(name, arm['setting'])}: {arm['sessions']} of {PER_ARM} sessions")
    if trial["waits"] and all(arm["sessions"] == PER_ARM for arm in trial["arms"].values()):
        lines += text.wrap(f"  It waits for {text.counted(trial['waits'], 'earlier session')} to end, or to be quiet for a day.")
    return lines + text.wrap(
        f"  Results are only read once {PER_ARM} of each are over. To end it without a result: popkit try-out stop {name}", indent="  "
    )


def _finished(trial: dict[str, Any]) -> list[text.Line]:
    name, result = trial["name"], trial["result"]
    arms = " and ".join(f"{arm['sessions']} sessions with {_value(name, arm['setting'])}" for arm in result["arms"].values())
    lines = text.wrap(f"{name}: finished {_day(result['at'])}, after {arms}")
    for key, outcome in result["outcomes"].items():
        lines += text.pair("  " + _OUTCOMES[key][0], _outcome(key, outcome), _ASIDE)
    return lines + [line for words in (_method(name, result), _left_out(name, result), _advice(name, result)) if words
                    for line in text.wrap("  " + words, indent="  ")]  # fmt: skip


def _outcome(key: str, outcome: dict[str, Any] | None) -> str:
    if outcome is None:
        return "not known for enough sessions"
    _, down, up = _OUTCOMES[key]
    words = "cannot be told apart from no effect" if not outcome["claimed"] else down if outcome["ratio"] < 1 else up
    few = sum(outcome[arm] for arm in ("with", "without"))
    only = "" if few == 2 * PER_ARM else f" (known for {outcome['with']} and {outcome['without']} sessions)"
    return f"{_change(outcome['ratio'])} (95 %: {_change(outcome['low'])} to {_change(outcome['high'])}): {words}{only}"


def _change(ratio: float) -> str:
    percent = (ratio - 1) * 100
    shown = f"{percent:+,.0f}" if abs(percent) >= 0.5 else "0"
    return f"{shown} %"


def _method(name: str, result: dict[str, Any]) -> str:
    dated = f" Money is at the API's prices of {text.clean(result['prices_of'])}." if result["prices_of"] else ""
    with_it, without = (_value(name, arm["setting"]) for arm in result["arms"].values())
    only = f" {_NO_SUMMARY}" if name == COMPACT else ""
    return (
        f"Each figure is per answered prompt of yours, {with_it} compared with {without}, and includes what the setting itself costs."
        f"{dated} 1 in 20 such intervals misses the true value.{only}"
    )


def _left_out(name: str, result: dict[str, Any]) -> str:
    with_it, without = result["arms"].values()
    words = [f"{with_it[key]} and {without[key]} {why}" for key, why in _LEFT_OUT.items() if with_it[key] or without[key]]
    arms = f"{_value(name, with_it['setting'])} and {_value(name, without['setting'])}"
    return f"Sessions left out, {arms}: {', '.join(words)}." if words else ""


def _advice(name: str, result: dict[str, Any]) -> str:
    """Return one line of advice, by the outcome that decides."""
    deciding = result["outcomes"][result["decides"]]
    what = _OUTCOMES[result["decides"]][0]
    stays = f"Sessions keep {_value(name, USUAL[name])} until you change it."
    if deciding is None:
        return f"Advice: none, because {what} is known for too few sessions. {stays}"
    if deciding["claimed"]:
        better = ARMS[name][deciding["ratio"] > 1]
        return f"Advice: {_set(name, better)}. That {'costs less' if what == 'money' else 'takes fewer tokens'}. {stays}"
    needed, change = result["needed"]["sessions"], result["needed"]["change"]
    return (
        f"Advice: choose what you like better. Detecting a change of {change * 100:.0f} % would take about {needed:,} sessions of each."
        f" {stays}"
    )


def _set(name: str, value: str) -> str:
    if name == MEMORY:
        return f"popkit memory {value}"
    return f'set "{name}": "{value}" in your configuration'


def _stopped(trial: dict[str, Any]) -> list[text.Line]:
    words = f"{trial['name']}: ended without a result {_day(trial['stopped'])}. To start it again: popkit try-out start {trial['name']}"
    return text.wrap(words, indent="  ")


def started(name: str) -> list[text.Line]:
    """Return the message about a trial that starts or continues."""
    with_it, without = (_value(name, value) for value in ARMS[name])
    words = (
        f"From the next session on, a coin decides for each whether it has {with_it} or {without}; a session keeps it to its end. After"
        f" {PER_ARM} sessions of each, popkit try-out shows the result. Sessions differ, so that tells a large change (about a half) from"
        f" none, and a small one hardly ever. To end it: popkit try-out stop {name}"
    )
    only = f" {_NO_SUMMARY}" if name == COMPACT else ""
    return [*text.wrap(words), *(text.wrap(ONLY[name] + only) if name in ONLY else [])]


def stopped(name: str, is_unread: bool) -> list[text.Line]:
    """Return the message about a trial that was stopped."""
    return text.wrap(
        f"The trial of {name} has ended" + (" unread." if is_unread else ".") + " All sessions use the setting in your configuration."
    )


def _value(name: str, value: str) -> str:
    return f"{name} {value}"


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at))


_ON = ("running", "paused")
_LINES = {"running": _running, "paused": _running, "finished": _finished, "stopped": _stopped}
