"""`lifetimes`: what was learnt of this project, how long its kinds of results live and which model says what is needed again. Data in,
lines out. Pure."""

from __future__ import annotations

from ..policy.lifetimes import POINTS, factor
from ..policy.ruleset import AUTO
from . import text

_KIND = 12
_LEARNT = (
    f"A kind lives a quarter longer for each result that was fetched again unchanged, or restored, after it had expired; {POINTS} that "
    "expire and are not take that back. As configured again:"
)
_SOURCES = {"project": "learnt from this project", "user": "learnt from your sessions", "shipped": "that is shipped"}
# What a person types so that a learnt model goes.
_UNDO = {"project": "popkit lab learn --undo --project", "user": "popkit lab learn --undo"}


def lifetimes_data(points: dict, known, profile: str, project: str, reset: bool) -> dict:
    """What `--json` prints. `points` of each kind (policy/lifetimes.py); `known`: the model that holds (state.learnt.Known)."""
    return {
        "project": project,
        "profile": profile,
        "goes_by_them": profile == AUTO,
        "lifetimes": factors(points),
        "model": {"source": known.source, "about": known.about, "trouble": known.trouble},
        "reset": reset,
    }


def factors(points: dict) -> dict:
    """kind -> how many times as long it lives, the longest first."""
    return {kind: round(factor(points[kind]), 2) for kind in sorted(points, key=lambda kind: (-points[kind], kind))}


def lifetimes_lines(found: dict, command: str) -> list:
    """The lines of the answer."""
    lines = text.title("Lifetimes that this project taught")
    if found["reset"]:
        lines += [*text.wrap("Forgotten: every kind lives as configured, here and in later sessions of this project."), ""]
    lines += [f"{text.pad(text.clean(kind), _KIND)}x{longer:.2f}" for kind, longer in found["lifetimes"].items()]
    if found["lifetimes"]:
        lines += ["", *text.wrap(_LEARNT), f"  {command} lifetimes --reset"]
    elif not found["reset"]:
        lines += text.wrap("None: nothing that had expired was needed again. Every kind lives as configured.")
    if not found["goes_by_them"]:
        lines += ["", *text.wrap(f"The profile {text.clean(found['profile'])} keeps to the configured lifetimes; auto goes by these.")]
    return [*lines, "", *_model_lines(found["model"])]


def _model_lines(model: dict) -> list:
    about = model["about"]
    said = "What is needed again: the model " + _SOURCES[model["source"]]
    if model["source"] != "shipped" and isinstance(about.get("sessions"), int):
        said += f", {text.counted(about['sessions'], 'session')}"
    lines = text.wrap(said + ".")
    if model["source"] in _UNDO:
        lines += text.wrap(f"To go back: {_UNDO[model['source']]}", indent="  ")
    return lines + (text.wrap("Not used: " + text.clean(model["trouble"]), indent="  ") if model["trouble"] else [])
