"""`clear`: the sum, what goes, what was done and how to take it back. A plan and a report in, data and lines out. Pure."""

from __future__ import annotations

from ..policy.ruleset import AUTO
from ..policy.tiers import TIERS
from . import ids, phrases, text
from .details import result_line

_MOST = 6  # results of one tier, unless everything is asked for
_ASIDE = 10  # columns of the left column


def clear_data(plan, done, report: dict, dry_run: bool, profile: str) -> dict:
    """What `--json` prints: the sum, what goes (`results` with the handle of each once it is archived), and what does not."""
    rows = {row["id"]: row for row in report["results"]}
    handles = done.handles if done else {}
    going = [rows[result.id] for result in plan.going if result.id in rows]
    return {
        "cleared": done is not None,
        "dry_run": dry_run,
        "tier": plan.asked.tier or None,
        "ids": list(plan.asked.ids),
        "pattern": plan.asked.pattern or None,
        "now": plan.asked.now,
        "items": len(going),
        "tokens": done.tokens if done else plan.sum.leaves if going else 0,
        "profile": profile,
        "pays": plan.pays,
        "likely_requests": plan.likely_requests,
        "sum": plan.sum.to_json(),
        "results": [{**_short(row), "need": _need(plan, row["id"]), "handle": handles.get(row["id"])} for row in going],
        "kept": {
            name: {"items": len(results), "tokens": sum(rows[result.id]["tokens"] for result in results if result.id in rows)}
            for name, results in (
                ("early", _kept(plan, lambda decision: decision.reason not in ("small", "pinned"))),
                ("small", _kept(plan, lambda decision: decision.reason == "small")),
                ("pinned", _kept(plan, lambda decision: decision.reason == "pinned")),
            )
        },
        "session": report["session"],
        "original": done.original if done else None,
        "trouble": done.trouble if done else "",
    }


def _need(plan, id: str) -> float | None:
    """How likely a result is needed again, where that was weighed."""
    need = next((decision.need for decision in plan.decisions if decision.result.id == id), None)
    return None if need is None else round(need, 4)


def _kept(plan, which) -> list:
    """The expired results that stay and are kept for such a reason."""
    going = {result.id for result in plan.going}
    kept = [decision for decision in plan.decisions if decision.result.id not in going and which(decision)]
    return [decision.result for decision in kept if decision.result.ended or (decision.reason == "pinned" and plan.asked.pattern)]


def _short(row: dict) -> dict:
    return {name: row[name] for name in ("id", "number", "label", "tool", "tier", "kind", "tokens", "state")}


def clear_lines(found: dict, report: dict, command: str, words: str = "", everything: bool = False) -> list:
    """The lines of an answer. `words` name what the user gave, to be repeated in the command that would do it."""
    heads = {True: "Cleared", False: "Clear: a dry run" if found["dry_run"] else "Clear: not now"}
    lines = text.title(heads[found["cleared"]] if found["items"] else "Clear")
    if not found["items"]:
        return [*lines, *text.wrap(_nothing(found)), *_kept_lines(found, command)]
    lines += [*_sum_lines(found), "", *_result_lines(found, report, everything)]
    lines += _kept_lines(found, command)
    lines.append("")
    if found["cleared"]:
        return lines + _done_lines(found, command)
    if found["dry_run"]:
        given = _with(command, words, found["now"] or not found["pays"])
        return [*lines, *text.wrap("Dry run: nothing was changed. To clear: " + given, indent="  ")]
    return [
        *lines,
        *text.wrap("It does not pay soon enough, so nothing was changed. To clear all the same, and what is kept for now with it:"),
        *text.wrap("  " + _with(command, words, True), indent="  "),
    ]


def _with(command: str, words: str, now: bool) -> str:
    return " ".join(filter(None, [command, "clear", words, "--now" if now else ""]))


def _nothing(found: dict) -> str:
    kept = found["kept"]
    if found["tier"]:
        return f"Nothing to clear: {found['tier']} holds {'nothing but what is kept' if _any(kept) else 'no results'}."
    if found["ids"]:
        return "Nothing to clear: " + ("it is kept." if _any(kept) else "it is out of the context already.")
    of = f" of {text.clean(found['pattern'])}" if found["pattern"] else ""
    if kept["early"]["items"] or kept["pinned"]["items"]:
        return f"Nothing to clear: all{of} that has expired is kept."
    if kept["small"]["items"]:
        return f"Nothing to clear: what{of} has expired is no larger than its placeholder would be."
    return f"Nothing to clear: no result{of} {'is worth it' if found['profile'] == AUTO else 'has expired'}."


def _any(kept: dict) -> bool:
    return any(have["items"] for have in kept.values())


def _sum_lines(found: dict) -> list:
    sum = found["sum"]
    left = sum["share"] * found["tokens"] / sum["leaves"] if sum["leaves"] > 0 else 0.0
    share = f" ({left:.0%} of the context)" if left >= 0.005 else ""
    lines = _pair("Leaves", f"{text.long_tokens(found['tokens'])}{share} from {text.counted(found['items'], 'result')}")
    if not sum["warm"]:
        lines += _pair("Cache", f"cold: the next request writes its prompt anyway, {text.long_tokens(found['tokens'])} fewer")
        return lines + _pair("Pays", "at once")
    cost = f"warm: the {text.long_tokens(sum['rewritten'])} behind the first of them are written again,"
    lines += _pair("Cache", f"{cost} as much as {text.long_tokens(sum['cost_now'])} of input")
    after = sum["pays_after"]
    if after is None:
        return lines + _pair("Pays", "never")
    when = f"after {text.counted(after, 'request')}" if after else "at once"
    if not _is_weighed(found):
        return lines + _pair("Pays", f"{when}; {found['likely_requests']} usually follow while the cache is warm")
    said = f"{when}; {found['likely_requests']} with a warm cache are reckoned with"
    if not found["pays"] and after <= found["likely_requests"]:
        said += f". The rewrite is certain, they are not: it counts {2:g} times"
    return lines + _pair("Pays", said)


def _is_weighed(found: dict) -> bool:
    """Whether what goes was chosen by its worth: not by lifetimes, nor by the user."""
    return found["profile"] == AUTO and not (found["tier"] or found["ids"])


def _pair(name: str, said: str) -> list:
    said_lines = text.wrap(said, text.WIDTH - _ASIDE)
    return [f"{name:<{_ASIDE}}{said_lines[0]}", *[" " * _ASIDE + line for line in said_lines[1:]]]


def _result_lines(found: dict, report: dict, everything: bool) -> list:
    wanted = {row["id"] for row in found["results"]}
    rows = [row for row in report["results"] if row["id"] in wanted]
    lines: list = []
    for tier in TIERS:
        mine = sorted([row for row in rows if row["tier"] == tier], key=lambda row: -row["tokens"])
        if mine:
            lines += [
                *([""] if lines else []),
                f"{tier.capitalize()}: {text.counted(len(mine), 'result')}, {text.long_tokens(_tokens(mine))}",
            ]
            shown = mine if everything else mine[:_MOST]
            lines += [result_line(row, text.WIDTH, _unused(row, found)) for row in shown]
            lines += _smaller_ones(mine, len(shown), ": add --all")
    return lines


def _unused(row: dict, found: dict) -> str:
    """Why a live result goes that nobody named; "" for any other."""
    return f"unused for {text.counted(row['quiet_age'], 'call')}" if row["state"] == "live" and _is_weighed(found) else ""


def _smaller_ones(rows: list, shown: int, hint: str = "") -> list:
    left = rows[shown:]
    return [f"  … {text.counted(len(left), 'smaller one')}, {text.long_tokens(_tokens(left))}{hint}"] if left else []


def _tokens(rows: list) -> int:
    return sum(row["tokens"] for row in rows)


def _kept_lines(found: dict, command: str) -> list:
    kept = found["kept"]
    said = []
    if kept["early"]["items"]:
        many = text.counted(kept["early"]["items"], "expired result")
        tokens = text.long_tokens(kept["early"]["tokens"])
        because = "worth more kept for now" if found["profile"] == AUTO else "used lately and likely to be needed again"
        said.append(f"Kept: {many}, {tokens}, {because}: --now takes them too.")
    if kept["pinned"]["items"] and (found["tier"] or found["ids"] or found["pattern"]):
        said.append(f"Kept: {kept['pinned']['items']} pinned; {command} unpin lets go.")
    told = not found["tier"] and not kept["early"]["items"] and not kept["pinned"]["items"]  # by _nothing
    if kept["small"]["items"] and (found["ids"] or not (found["items"] or told)):
        said.append(f"Kept: {text.counted(kept['small']['items'], 'result')} no larger than the placeholder that would stay.")
    return ["", *[line for note in said for line in text.wrap(note, indent="  ")]] if said else []


def _done_lines(found: dict, command: str) -> list:
    lines = text.wrap("All of it is archived, and a placeholder stands for each. The client still has it until you type")
    lines += ["", phrases.resume(found["session"]), ""]
    lines += text.wrap(f"Take it back: {command} undo. One of them: {command} restore ID.")
    return lines + text.wrap(found["trouble"]) if found["trouble"] else lines


def largest_lines(report: dict, most: int = 8) -> list:
    """The largest expired results of a report, whatever their tier."""
    lines = text.title("What could be reclaimed")
    rows = sorted([row for row in report["results"] if row["state"] == "expired"], key=lambda row: -row["tokens"])
    if not rows:
        return [*lines, "Nothing: no result has expired."]
    lines += [result_line(row, text.WIDTH) for row in rows[:most]]
    lines += _smaller_ones(rows, most)
    return [*lines, *text.wrap(f"Together {text.long_tokens(_tokens(rows))} from {text.counted(len(rows), 'expired result')}.")]


def ids_of(report: dict, words: str) -> tuple:
    """The ids of the results that a comma-separated list of names means; ids.NotFound for one that is unknown."""
    return tuple(dict.fromkeys(ids.find(report, word)["id"] for word in words.split(",") if word))
