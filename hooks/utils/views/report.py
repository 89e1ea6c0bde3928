"""Report one context as a plain dict (shapes.Report), the source of all its views, `--json` included. Pure."""

from __future__ import annotations

from ..hosts import name_of
from ..policy import figures, file_changes, globs, kinds, parts, verdict
from ..policy.context import OUTSIDE
from ..policy.plans import CLEAR, HOLD, Decision, Plan
from ..policy.ruleset import TIERS
from ..policy.tools import READ
from .phrases import run_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..policy.context import ContextState, Result
    from ..policy.conversation import Conversation
    from ..policy.ruleset import Ruleset
    from ..policy.shapes import Sums
    from ..reclaim.outlook import Outlook
    from .shapes import Expiry, HostReductions, NextExpiration, PartialReads, PlannedResult, Report, ResultRow, ShortEntry, ShownFile, Tier

SCHEMA = 3


def build(outlook: Outlook) -> Report:
    """Return the report of an Outlook (reclaim/outlook.py)."""
    state, rules = outlook.state, outlook.rules
    now = max(outlook.at, state.at)
    ended = [result for result in state.expired.values() if result.ended]
    rows = _rows([*ended, *state.live.values()], outlook, now)
    return {
        "schema": SCHEMA,
        "session": state.session_id,
        "host": (outlook.rebuilt.index.translated if outlook.rebuilt else "") or name_of(state.session_id),
        "project": outlook.project,
        "transcript": outlook.transcript,
        "enabled": rules.enabled,
        "profile": rules.profile,
        "profile_source": "session" if state.profile else "configuration",
        "calls": state.index,
        "turns": outlook.rebuilt.conversation.prompts if outlook.rebuilt else state.turn,
        "at": now,
        "context": outlook.context,
        "calibration": state.calibration,
        "scaled": outlook.rebuilt.conversation.scaled if outlook.rebuilt else 1.0,
        "tiers": {tier: _tier(tier, rows) for tier in TIERS},
        "expired": _sums([row for row in rows if row["state"] == "expired"]),
        "reclaimable": {"now": verdict.takes(outlook.now), "cold": verdict.takes(outlook.cold)},
        "cleared": _sums([row for row in rows if row["state"] == "cleared" and row["handle"]]),
        "by_host": _by_host(rows, outlook),
        "figures": figures.of_ledger(outlook.ledger),
        "compactions": outlook.rebuilt.conversation.compactions if outlook.rebuilt else None,
        "compacted": outlook.left,
        "abandoned": outlook.rebuilt.index.abandoned if outlook.rebuilt else 0,
        "pins": list(state.pins),
        "configured_pins": list(rules.pins),
        "agents": outlook.agents,
        "partial_reads": _partial_reads(state),
        "results": rows,
        "doubt": outlook.doubt,
        "verdict": outlook.verdict,
    }


def _rows(of: list[Result], outlook: Outlook, now: float) -> list[ResultRow]:
    """Return the rows of results, by number."""
    state, rules, plans = outlook.state, outlook.rules, _plans(outlook)
    conversation = outlook.rebuilt.conversation if outlook.rebuilt else None
    numbers = {result.id: result.index for result in of}
    rows: list[ResultRow] = []
    for result in sorted(of, key=lambda result: result.index):
        ended = None if result.id in state.live else result.ended  # a result that a pin has revived was ended before
        row: ResultRow = {
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
            "pinned_by": "" if ended else _pinned_by(result, state, rules),
            "state": "live" if not ended else "cleared" if result.cleared else "expired",
            "plan": plans.get(result.id),
            "entered": _entered(conversation, result.id, numbers) if conversation and result.id in conversation.entered else None,
        }
        if ended:
            trigger, index, at, by, reasons = ended
            row["handle"] = "" if result.cleared == OUTSIDE else result.cleared
            row["ended"] = {
                "trigger": trigger,
                "at_call": index,
                "at": at,
                "by": by,
                "by_number": numbers.get(by),
                "reasons": list(reasons),
            }
        else:
            row["expires"] = expiry(result, state, rules, now)
        rows.append(row)
    return rows


def _by_host(rows: list[ResultRow], outlook: Outlook) -> HostReductions:
    """Return how many results of the context the host has shortened itself, by how."""
    in_files = outlook.rebuilt.in_files if outlook.rebuilt else ()
    return {
        "cleared": sum(row["state"] == "cleared" and not row["handle"] for row in rows),
        "in_files": sum(row["id"] in in_files for row in rows),
        # The only acknowledgment that a read can be.
        "unchanged": sum(row["kind"] == kinds.ACK and outlook.rules.tools.of(row["tool"]).operation == READ for row in rows),
    }


def _plans(outlook: Outlook) -> dict[str, PlannedResult]:
    """Return id of a result in the context -> what a clear thinks of it now, and its action once the cache is cold. What does not pay is
    held."""
    if outlook.now is None or outlook.cold is None:
        return {}
    cold = {decision.result.id: _action(decision, outlook.cold) for decision in outlook.cold.decisions}
    return {
        decision.result.id: {**decision.to_json(), "action": _action(decision, outlook.now), "cold": cold.get(decision.result.id)}
        for decision in outlook.now.decisions
    }


def _action(decision: Decision, plan: Plan) -> str:
    return HOLD if decision.action == CLEAR and not plan.pays else decision.action


def _entered(conversation: Conversation, id: str, numbers: dict[str, int]) -> ShortEntry:
    event = conversation.entered[id]
    leans_on = sorted(numbers[id] for id in event.leans_on if id in numbers)
    kept_out = conversation.as_counted(event.kept_out, event.at)
    return {"kept_out_tokens": kept_out, "handle": event.handle, "leans_on": leans_on, "reasons": list(event.reasons)}


def _shows(result: Result) -> list[ShownFile]:
    """Return [{path, lines}] of the files that a result shows (of a live one: that nothing newer shows)."""
    shown: dict[str, list[list[int]]] = {}
    for key, scope in result.parts:
        if key.startswith("read:"):
            shown.setdefault(key[5:], []).append(scope)
    return [{"path": path, "lines": parts.describe_intervals(scopes)} for path, scopes in shown.items()]


def _pinned_by(result: Result, state: ContextState, rules: Ruleset) -> str:
    if result.id in state.pins:
        return result.id
    return (rules.pinned_by(result.subjects, state.pins) or "") if result.pinned and result.kind != kinds.ACK else ""


def expiry(result: Result, state: ContextState, rules: Ruleset, now: float) -> Expiry:
    """Return what will end a live result: a call's number, a time, events."""
    on = ["unpin"] if _pinned_by(result, state, rules) else _events(result, rules)
    left: Expiry = {"at_call": None, "calls_left": None, "seconds_left": None, "on": on, "held_until": None}
    if on == ["unpin"]:
        return left
    held = state.holds.get(result.id)
    if held is not None:
        left["held_until"] = max(held, state.index) + 1
    rule = rules.tier_rule(result.tier)
    calls, seconds = rule.ttl_calls, rule.ttl_s
    if calls is not None:
        at = max(result.index + calls, left["held_until"] or state.index + 1)
        left["at_call"], left["calls_left"] = at, at - state.index
    if seconds is not None and held is None:
        left["seconds_left"] = max(0, round(seconds - (now - result.at)))
    return left


def _events(result: Result, rules: Ruleset) -> list[str]:
    if result.tier == "preserved":
        if result.kind == kinds.TASKS:
            return ["newer", "manual"]
        ends = "success" in rules.tier_rule(result.tier).events and any(part[0].startswith("error:") for part in result.parts)
        return ["success", "manual"] if ends else ["manual"]
    own = rules.tier_rule(result.tier).events
    on = file_changes.file_events(result, rules)
    on.append(kinds.of(result.kind).ends_on)
    return [*on, "session_end"] if "session_end" in own else on


def _tier(tier: str, rows: list[ResultRow]) -> Tier:
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


def _soonest(live: list[ResultRow]) -> NextExpiration | None:
    timed = [row for row in live if row["expires"]["at_call"] is not None or row["expires"]["seconds_left"] is not None]
    if not timed:
        return None

    def left(row: ResultRow) -> tuple[float, float, int]:
        calls, seconds = row["expires"]["calls_left"], row["expires"]["seconds_left"]
        return (float("inf") if calls is None else calls, float("inf") if seconds is None else seconds, row["number"])

    first = min(timed, key=left)
    return {"number": first["number"], "calls_left": first["expires"]["calls_left"], "seconds_left": first["expires"]["seconds_left"]}


def _rerun_names(live: list[ResultRow]) -> list[str]:
    """Return the runs that would have to be repeated, newest first, each once."""
    names: list[str] = []
    for row in reversed(live):
        family = row["kind"].partition(":")[2]
        if family and not row["pinned_by"]:
            name = run_name(row["label"], family)
            if name not in names:
                names.append(name)
    return names


def _sums(rows: list[ResultRow]) -> Sums:
    return {"items": len(rows), "tokens": sum(row["tokens"] for row in rows)}


def _partial_reads(state: ContextState) -> list[PartialReads]:
    """Return files of which several live results show something, with the lines that they show together."""
    files: dict[str, list[tuple[int, list[int]]]] = {}
    for result in state.live.values():
        for key, scope in result.parts:
            if key.startswith("read:"):
                files.setdefault(key[5:], []).append((result.index, scope))
    rows: list[PartialReads] = []
    for path, reads in files.items():
        numbers = sorted({number for number, _ in reads})
        if len(numbers) > 1:
            rows.append({"path": path, "lines": parts.describe_intervals([scope for _, scope in reads]), "reads": numbers})
    return rows


def matching(report: Report, pattern: str) -> list[ResultRow]:
    """Return the rows that a path pattern holds."""
    return [row for row in report["results"] if any(globs.matches(pattern, subject) for subject in row["subjects"])]


def is_reclaimable(row: ResultRow, cold: bool = False) -> bool:
    """Return whether a clear takes a result: now, or once the cache is cold."""
    plan = row["plan"]
    return plan is not None and (plan["cold"] if cold else plan["action"]) == CLEAR


def handle_of(row: ResultRow) -> str:
    """Return the handle under which a result is archived; "" for one that is not."""
    return row.get("handle") or (row["entered"]["handle"] if row["entered"] else "")
