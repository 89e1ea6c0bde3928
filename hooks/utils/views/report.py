"""One context as one plain dict: what all answers are drawn from, and what `--json` prints. Pure.

Every token figure is an estimate times the session's calibration. The keys are stable:

`schema` 3 · `session`, `project`, `transcript` · `enabled` · `profile`, `profile_source` (session or configuration) · `calls`, `turns`,
`at` (seconds) · `context`: {`tokens`, `window`, `window_source`, `ratio`, `model`, `cache` (warm, cold or null), `cache_seconds_left`} ·
`calibration` · `tiers`: tier -> {`live`, `expired`: {`items`, `tokens`}, `next`} · `expired` (by the tiers, and still in the context),
`cleared`: {`items`, `tokens`} · `reclaimable`: {`now`, `cold`}: what a clear takes now, and once the cache is cold, placeholders
subtracted · `verdict`: what to do now (policy/verdict.py) · `doubt`: what of the transcript is
not understood, so that PopKit does not change it · `figures`: what PopKit did in this session, its subagents included (policy/figures.py),
empty where nothing was ever booked · `compactions`, `compacted` (results that compactions took), `abandoned` (results on a branch that
was rewound) · `pins`, `configured_pins` · `agents`: [{`agent`, `calls`, `live`, `expired`}] · `partial_reads`: [{`path`, `lines`,
`reads`: [numbers]}] · `results`: live, expired and cleared, by number: {`id`, `number`, `label`, `tool`, `kind`, `tier`, `basis`,
`tokens`, `at`, `turn`, `age`, `quiet_age`, `error`, `verdict`, `shows`, `subjects`, `state` (live, expired or cleared), `handle` (of what
is archived of a cleared one), `pinned_by`, `expires` (of a live one), `ended` (of any other), `plan` (of what stands in the context):
{`action` (clear, hold, keep), `reason` (policy/planning.py), `need`, `value`, `gain`, `cold` (its action once the cache is cold)},
`entered` (null for what entered whole): {`kept_out_tokens`, `handle` (of the archived whole), `leans_on`: [numbers], `reasons`}}.

`next` of a tier: {`soonest`: {`number`, `calls_left`, `seconds_left`} or null, `on`: [events], `names`: [what a rerun would end],
`kinds`: kind -> live items}. `expires`: {`at_call`, `calls_left`, `seconds_left`, `on`, `held_until`}. `on` holds edit, commit, rerun,
repeat, reread, success, newer, session_end, manual, unpin; `held_until`: the call before which a restored one does not end.
`ended`: {`trigger`, `at_call`, `at`, `by`, `by_number`, `reasons`}.
"""

from __future__ import annotations

from ..policy import figures, globs, kinds, lifecycle, parts, planning, verdict
from ..policy.context import OUTSIDE
from ..policy.tiers import TIERS
from .phrases import run_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..policy.context import ContextState, Result
    from ..policy.events import Entered
    from ..policy.ruleset import Ruleset
    from ..reclaim.outlook import Outlook

SCHEMA = 3


def build(found: Outlook) -> dict[str, Any]:
    """The report of an Outlook (reclaim/outlook.py)."""
    state, rules, plans = found.state, found.rules, _plans(found)
    now = max(found.at, state.at)
    expired = [result for result in state.expired.values() if result.ended]
    numbers = {result.id: result.index for result in (*expired, *state.live.values())}
    rows = [_expired_row(result, result.ended, state, rules, now, numbers) for result in expired if result.ended]
    rows += [_live_row(result, state, rules, now) for result in state.live.values()]
    rows.sort(key=lambda row: row["number"])
    entered = found.made.conversation.entered if found.made else {}
    for row in rows:
        row["plan"] = plans.get(row["id"])
        row["entered"] = _entered(entered[row["id"]], numbers, state.calibration) if row["id"] in entered else None
    tiers = {tier: _tier(tier, rows, state) for tier in TIERS}
    return {
        "schema": SCHEMA,
        "session": state.session_id,
        "project": found.project,
        "transcript": found.transcript,
        "enabled": rules.enabled,
        "profile": rules.profile,
        "profile_source": "session" if state.profile else "configuration",
        "calls": state.index,
        "turns": state.turn,
        "at": now,
        "context": found.context,
        "calibration": state.calibration,
        "tiers": tiers,
        "expired": _sums([row for row in rows if row["state"] == "expired"]),
        "reclaimable": {"now": verdict.takes(found.now), "cold": verdict.takes(found.cold)},
        "cleared": _sums([row for row in rows if row["state"] == "cleared"]),
        "figures": figures.of_ledger(found.ledger),
        "compactions": state.epoch,
        "compacted": state.counts.compacted,
        "abandoned": found.made.index.abandoned if found.made else 0,
        "pins": list(state.pins),
        "configured_pins": list(rules.pins),
        "agents": found.agents,
        "partial_reads": _partial_reads(state),
        "results": rows,
        "doubt": found.doubt,
        "verdict": found.verdict,
    }


def _plans(found: Outlook) -> dict[str, Any]:
    """id of a result that stands in the context -> what is thought of it now, and its action once the cache is cold. What does not pay
    is held."""
    if found.now is None or found.cold is None:
        return {}
    cold = {decision.result.id: _action(decision, found.cold) for decision in found.cold.decisions}
    return {
        decision.result.id: {**decision.to_json(), "action": _action(decision, found.now), "cold": cold.get(decision.result.id)}
        for decision in found.now.decisions
    }


def _action(decision: planning.Decision, plan: planning.Plan) -> str:
    return planning.HOLD if decision.action == planning.CLEAR and not plan.pays else decision.action


def _row(result: Result, state: ContextState, rules: Ruleset, now: float) -> dict[str, Any]:
    return {
        "id": result.id,
        "number": result.index,
        "label": result.label,
        "tool": result.tool,
        "kind": result.kind,
        "tier": result.tier,
        "basis": result.basis,
        "tokens": round(result.tokens * state.calibration),
        "at": result.at,
        "turn": result.turn,
        "age": state.index - result.index,
        "quiet_age": state.quiet_age(result),
        "error": bool(result.error),
        "verdict": result.verdict or "",
        "shows": _shows(result),
        "subjects": [subject for subject in result.subjects if isinstance(subject, str)],
        "pinned_by": _pinned_by(result, state, rules),
    }


def _entered(event: Entered, numbers: dict[str, int], calibration: float) -> dict[str, Any]:
    leans_on = sorted(numbers[id] for id in event.leans_on if id in numbers)
    kept_out = round(event.kept_out * calibration)
    return {"kept_out_tokens": kept_out, "handle": event.handle, "leans_on": leans_on, "reasons": list(event.reasons)}


def _live_row(result: Result, state: ContextState, rules: Ruleset, now: float) -> dict[str, Any]:
    row = _row(result, state, rules, now)
    row["state"] = "live"
    row["expires"] = expiry(result, state, rules, now)
    return row


def _expired_row(
    result: Result, ended: list[Any], state: ContextState, rules: Ruleset, now: float, numbers: dict[str, int]
) -> dict[str, Any]:
    trigger, index, at, by, reasons = ended
    row = _row(result, state, rules, now)
    row["state"] = "cleared" if result.cleared else "expired"
    row["handle"] = "" if result.cleared == OUTSIDE else result.cleared
    row["pinned_by"] = ""
    row["ended"] = {"trigger": trigger, "at_call": index, "at": at, "by": by, "by_number": numbers.get(by), "reasons": list(reasons)}
    return row


def _shows(result: Result) -> list[dict[str, Any]]:
    """[{path, lines}] of the files that a result shows (of a live one: that nothing newer shows)."""
    shown: dict[str, list[list[int]]] = {}
    for key, scope in result.parts:
        if key.startswith("read:"):
            shown.setdefault(key[5:], []).append(scope)
    return [{"path": path, "lines": parts.describe_intervals(scopes)} for path, scopes in shown.items()]


def _pinned_by(result: Result, state: ContextState, rules: Ruleset) -> str:
    if result.id in state.pins:
        return result.id
    return (rules.pinned_by(result.subjects, state.pins) or "") if result.pinned and result.kind != kinds.ACK else ""


def expiry(result: Result, state: ContextState, rules: Ruleset, now: float) -> dict[str, Any]:
    """What will end a live result: a call's number, a time, events."""
    left: dict[str, Any] = {"at_call": None, "calls_left": None, "seconds_left": None, "on": _events(result, rules), "held_until": None}
    if _pinned_by(result, state, rules):
        left["on"] = ["unpin"]
        return left
    held = state.holds.get(result.id)
    if held is not None:
        left["held_until"] = max(held, state.index) + 1
    rule = rules.tier_rule(result.tier)
    calls, seconds = rule.ttl_calls, rule.ttl_s
    if calls is not None:
        left["at_call"] = max(result.index + calls, left["held_until"] or state.index + 1)
        left["calls_left"] = left["at_call"] - state.index
    if seconds is not None and held is None:
        left["seconds_left"] = max(0, round(seconds - (now - result.at)))
    return left


def _events(result: Result, rules: Ruleset) -> list[str]:
    if result.tier == "preserved":
        if result.kind == kinds.TASKS:
            return ["newer", "manual"]
        return ["success", "manual"] if any(part[0].startswith("error:") for part in result.parts) else ["manual"]
    own = rules.tier_rule(result.tier).events
    on = lifecycle.file_events(result, rules)
    on.append(kinds.of(result.kind).ends_on)
    return [*on, "session_end"] if "session_end" in own else on


def _tier(tier: str, rows: list[dict[str, Any]], state: ContextState) -> dict[str, Any]:
    mine = [row for row in rows if row["tier"] == tier]
    live = [row for row in mine if row["state"] == "live"]
    counts: dict[str, int] = {}
    for row in live:
        name = "pinned" if row["pinned_by"] else kinds.name_of(row["kind"])
        counts[name] = counts.get(name, 0) + 1
    return {
        "live": _sums(live),
        "expired": _sums([row for row in mine if row["state"] == "expired"]),
        "next": {
            "soonest": _soonest(live),
            "on": sorted({event for row in live for event in row["expires"]["on"]}),
            "names": _rerun_names(live),
            "kinds": counts,
        },
    }


def _soonest(live: list[dict[str, Any]]) -> dict[str, Any] | None:
    timed = [row for row in live if row["expires"]["at_call"] is not None or row["expires"]["seconds_left"] is not None]
    if not timed:
        return None

    def left(row: dict[str, Any]) -> tuple[float, float, int]:
        calls, seconds = row["expires"]["calls_left"], row["expires"]["seconds_left"]
        return (float("inf") if calls is None else calls, float("inf") if seconds is None else seconds, row["number"])

    first = min(timed, key=left)
    return {"number": first["number"], "calls_left": first["expires"]["calls_left"], "seconds_left": first["expires"]["seconds_left"]}


def _rerun_names(live: list[dict[str, Any]]) -> list[str]:
    """What would have to run again, newest first, each once."""
    names: list[str] = []
    for row in reversed(live):
        family = row["kind"].partition(":")[2]
        if family and not row["pinned_by"]:
            name = run_name(row["label"], family)
            if name not in names:
                names.append(name)
    return names


def _sums(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"items": len(rows), "tokens": sum(row["tokens"] for row in rows)}


def _partial_reads(state: ContextState) -> list[dict[str, Any]]:
    """Files of which several live results show something, with the lines that they show together."""
    files: dict[str, list[tuple[int, list[int]]]] = {}
    for result in state.live.values():
        for key, scope in result.parts:
            if key.startswith("read:"):
                files.setdefault(key[5:], []).append((result.index, scope))
    found = []
    for path, reads in files.items():
        numbers = sorted({number for number, _ in reads})
        if len(numbers) > 1:
            found.append({"path": path, "lines": parts.describe_intervals([scope for _, scope in reads]), "reads": numbers})
    return found


def matching(report: dict, pattern: str) -> list:
    """The rows that a path pattern holds."""
    return [row for row in report["results"] if any(globs.matches(pattern, subject) for subject in row["subjects"])]
