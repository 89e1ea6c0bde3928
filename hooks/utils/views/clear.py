"""The text of a clear: its sum, its results, the outcome, the undo. Plans and a report in, data and lines out. Pure."""

from __future__ import annotations

from .. import text, units
from ..policy import verdict
from ..policy.planning import matches
from ..policy.ruleset import AUTO, TIERS
from . import phrases, verdicts
from .report import is_reclaimable
from .results import result_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..policy.context import Result
    from ..policy.plans import Plan, Selection
    from ..policy.shapes import Sums
    from .shapes import Clear, ClearedRow, Report, ResultRow

_MOST = 6  # results of one tier, unless everything is asked for
_MOST_TAKEN = 8  # results that a clear would take
_NOW = "--now"
# Reasons against a clear that --now overrides for expired results.
_HELD = ("waits", "grace", "in_use", "likely", "worth_keeping")

# Verdicts that add nothing to an answer in which nothing goes, and to one that says what would go, and when.
_NOTHING = ("nothing",)
_SAID_ABOVE = ("nothing", "clear", "wait")


def clear_data(plan: Plan, cold: Plan, done: bool, later: bool, report: Report, dry_run: bool, shown: int = 0) -> Clear:
    """Return what `--json` prints: the sum, what goes (`results`), which expired results stay and why (`kept`: reason -> {items, tokens}),
    and what would go once the cache is cold (`cold`), by the plan `cold`. `done`: it has begun, or, with `later`, begins as the session is
    resumed. `shown`: how many pictures and documents the person has shown."""
    rows = {row["id"]: row for row in report["results"]}
    decisions = {decision.result.id: decision for decision in plan.decisions}
    going = [rows[result.id] for result in plan.going if result.id in rows]
    context = report["context"]
    return {
        "cleared": done,
        "later": later,
        "dry_run": dry_run,
        "tier": plan.selection.tier or None,
        "ids": list(plan.selection.ids),
        "pattern": plan.selection.pattern or None,
        "now": plan.selection.now,
        "items": len(going),
        "tokens": 0 if plan.is_empty else plan.sum.leaves,
        "further": plan.further,
        "thinking": 0 if plan.is_empty else plan.sum.thinking,
        "profile": report["profile"],
        "pays": plan.pays,
        "likely_requests": plan.likely_requests,
        "sum": plan.sum.to_json(),
        "usd": plan.usd,
        "cold": {**verdict.takes(cold), "pays_after": cold.sum.pays_after, "usd": cold.usd},
        "wait_s": context["cache_seconds_left"] if context and plan.sum.warm else 0,
        "pictures": [row["number"] for row in going if decisions[row["id"]].reason == "not_text"],
        "shown": 0 if plan.is_empty else shown,
        "results": [_going(row, decisions[row["id"]].need) for row in going],
        "kept": _held_back(plan),
        "session": report["session"],
        "verdict": report["verdict"],
    }


def _going(row: ResultRow, need: float | None) -> ClearedRow:
    return {
        "id": row["id"], "number": row["number"], "label": row["label"], "tool": row["tool"], "tier": row["tier"], "kind": row["kind"],
        "tokens": row["tokens"], "state": row["state"], "need": None if need is None else round(need, 4),
    }  # fmt: skip


def _held_back(plan: Plan) -> dict[str, Sums]:
    """Return why expired results stay, and named ones that are pinned: reason -> {`items`, `tokens`}."""
    going, selection = {result.id for result in plan.going}, plan.selection
    held: dict[str, Sums] = {}
    for decision in plan.decisions:
        meant = _is_named(decision.result, selection) if decision.reason == "pinned" else decision.result.ended or selection.forces
        if decision.result.id not in going and meant and decision.reason not in ("live", "preserved"):
            have = held.setdefault(decision.reason, {"items": 0, "tokens": 0})
            have["items"] += 1
            have["tokens"] += decision.tokens
    return held


def _is_named(result: Result, selection: Selection) -> bool:
    """Return whether the user means a result by its id, its tier or a path."""
    if selection.pattern:
        return matches(result, selection.pattern)
    return result.id in selection.ids or result.tier == selection.tier


def clear_lines(clear: Clear, report: Report, command: str, words: str, everything: bool) -> list[text.Line]:
    """Return the lines of an answer. `words`: the user's selection, to be repeated in the command that carries it out."""
    lines = text.title(_head(clear))
    if not clear["tokens"] and not clear["cold"]["tokens"]:
        lines += [*text.wrap(_nothing(clear)), *_kept_lines(clear, command)]
        if _has_held(clear) and not clear["now"]:
            lines += ["", "To see what clearing them anyway would bring:", *_command(command, words, _NOW, "--dry-run")]
        return [*lines, *_instead_lines(report, _NOTHING)]
    if clear["tokens"]:
        lines += [*_sum_lines(clear), *_result_lines(clear, report, everything)]
    else:
        lines += _cold_lines(clear)
    lines += [*_pictures(clear, command), *_kept_lines(clear, command), ""]
    if clear["cleared"]:
        return lines + _done_lines(clear, command)
    return [*lines, *_undone_lines(clear, command, words), *_instead_lines(report, _SAID_ABOVE)]


def _instead_lines(report: Report, but: tuple[str, ...]) -> list[text.Line]:
    """Return what to do now, as the panel says it, unless the verdict is of one of these kinds."""
    return [] if report["verdict"]["kind"] in but else ["", *text.wrap(verdicts.verdict(report))]


def _head(clear: Clear) -> str:
    """Return the first line: what was done, or when it would pay."""
    goes = _goes(clear)
    if clear["cleared"]:
        is_paid = clear["pays"] or clear["sum"]["pays_after"] == 0
        done = "Noted" if clear["later"] else "Cleared"
        return done if is_paid else f"{done}, though it " + _when(clear).replace("pays after", "pays only after")
    if not clear["tokens"] and (clear["now"] or not clear["cold"]["tokens"]):
        return "Nothing to clear" + (" now" if clear["cold"]["tokens"] else "")
    if clear["dry_run"]:
        return "Dry run: this clear " + (_when(clear) if goes else _later(clear))
    return "Not cleared: it " + _later(clear)


def _goes(clear: Clear) -> bool:
    """Return whether what was asked for takes anything now."""
    return bool(clear["tokens"]) and (clear["pays"] or clear["now"])


def _when(clear: Clear) -> str:
    """Return when what would go now has paid for itself."""
    after = clear["sum"]["pays_after"]
    if after is None:
        return "never pays"
    return f"pays after {units.counted(after, 'request')}" if after else "pays at once"


def _later(clear: Clear) -> str:
    if clear["cold"]["tokens"] and clear["wait_s"]:
        return "pays once the cache is cold"
    after = clear["sum"]["pays_after"]
    return "never pays" if after is None else f"pays only after {units.counted(after, 'request')}"


def _nothing(clear: Clear) -> str:
    held = clear["kept"]
    if clear["tier"]:
        return f"Every result in {clear['tier'].capitalize()} stays." if held else f"{clear['tier'].capitalize()} holds no results."
    if clear["ids"]:
        return "It stays in the context." if held else "It is out of the context already."
    of = f" of {text.clean(clear['pattern'])}" if clear["pattern"] else ""
    if held:
        return f"Everything{of} that has expired stays for now."
    return f"No result{of} is worth clearing." if clear["profile"] == AUTO else f"No result{of} has expired."


def _sum_lines(clear: Clear) -> list[text.Line]:
    sum = clear["sum"]
    left = sum["share"] * clear["tokens"] / sum["leaves"] if sum["leaves"] > 0 else 0.0
    share = f" ({units.percent(left)} of the context)" if left >= 0.01 else ""
    many = phrases.leaving(clear, units.counted(clear["items"], "result"))
    if clear["cleared"] or clear["pays"] or clear["now"]:
        lines = text.pair("Leaves", f"{units.long_tokens(clear['tokens'])}{share} from {many}, placeholders subtracted")
    else:
        lines = text.pair("Now", f"{units.long_tokens(clear['tokens'])}{share} would leave, from {many}, placeholders subtracted")
    if clear["thinking"]:
        again = units.long_tokens(sum["thinking_cost"])
        lines += text.pair(
            "Thinking",
            f"{units.long_tokens(clear['thinking'])} of reasoning leave too; what is thought again may cost {again} of input",
        )
    if not sum["warm"]:
        lines += text.pair(
            "Cache", f"cold: the next request writes its whole prompt anyway, now {units.long_tokens(clear['tokens'])} shorter"
        )
        return lines + _worth(clear)
    rewritten, cost = units.long_tokens(sum["rewritten"]), units.long_tokens(sum["cost_now"])
    warm = f"warm: the messages that stay, {rewritten}, must be written again, which costs {cost} of input"
    return [*lines, *text.pair("Cache", warm), *_worth(clear), *_cold_lines(clear)]


def _worth(clear: Clear) -> list[text.Line]:
    return text.pair("Pays", _pays(clear))


def _pays(clear: Clear) -> str:
    after, likely = clear["sum"]["pays_after"], clear["likely_requests"]
    if not after:
        return "never" if after is None else "at once" + phrases.saving(clear["usd"])
    words = f"after {units.counted(after, 'request')}"
    if not _is_weighed(clear):
        return words + (f", and {likely}" if after <= likely else f", but only {likely}") + " usually follow before the cache goes cold"
    if clear["pays"] or clear["now"]:
        return words
    return words + ". The rewrite is certain and those requests are not, so auto waits for a cold cache"


def _cold_lines(clear: Clear) -> list[text.Line]:
    """Return what a clear takes once the cache is cold, where it is worth waiting."""
    have, wait_s = clear["cold"], clear["wait_s"]
    if clear["cleared"] or clear["pays"] or not have["tokens"] or not wait_s:
        return []
    many = f"{units.long_tokens(have['tokens'])} from {phrases.leaving(have, units.counted(have['items'], 'result'))}"
    price = phrases.pays(have["pays_after"], have["usd"])
    return text.pair("Cold", f"in {units.countdown(wait_s)}: then {many} leave{price}")


def _is_weighed(clear: Clear) -> bool:
    """Return whether what goes was chosen by its worth: not by lifetimes, nor by the user."""
    return clear["profile"] == AUTO and not (clear["tier"] or clear["ids"])


def _result_lines(clear: Clear, report: Report, everything: bool) -> list[text.Line]:
    wanted = {row["id"] for row in clear["results"]}
    rows = [row for row in report["results"] if row["id"] in wanted]
    lines: list[text.Line] = []
    for tier in TIERS:
        mine = sorted([row for row in rows if row["tier"] == tier], key=lambda row: -row["tokens"])
        if mine:
            lines += [
                "",
                f"{tier.capitalize()}: {units.counted(len(mine), 'result')}, {units.long_tokens(_tokens(mine))}",
            ]
            shown = mine if everything else mine[:_MOST]
            lines += [result_line(row, _unused(row, clear)) for row in shown]
            lines += _smaller_ones(mine, len(shown), ": add --all")
    if clear["further"]:
        words = "The least needed of the rest" if rows else "The least needed results and calls"
        lines += ["", *text.wrap(f"{words}: {units.long_tokens(clear['further'])}. The receipt names them.")]
    return lines


def _unused(row: ResultRow, clear: Clear) -> str:
    """Return why a live result goes that the user did not name; "" for any other."""
    if row["number"] in clear["pictures"]:
        return "shows more than text"
    return f"unused for {units.counted(row['quiet_age'], 'call')}" if row["state"] == "live" and _is_weighed(clear) else ""


def _smaller_ones(rows: list[ResultRow], shown: int, hint: str = "") -> list[str]:
    left = rows[shown:]
    return [f"  … {units.counted(len(left), 'smaller one')}, {units.long_tokens(_tokens(left))}{hint}"] if left else []


def _tokens(rows: list[ResultRow]) -> int:
    return sum(row["tokens"] for row in rows)


def _pictures(clear: Clear, command: str) -> list[text.Line]:
    """Return what leaves and cannot come back in place."""
    named = [f"T{number}" for number in clear["pictures"][:_MOST]]
    named += [f"{len(clear['pictures']) - _MOST:,} more"] if clear["pictures"][_MOST:] else []
    named += [f"{clear['shown']:,} of yours"] if clear["shown"] else []
    if not named:
        return []
    words = f"Pictures and documents leave with it, because only text stays: {', '.join(named)}. Undo does not bring them back;"
    words += f" {command} restore saves them as files."
    return ["", *text.wrap(words, indent="  ")]


def _kept_lines(clear: Clear, command: str) -> list[text.Line]:
    """Return why expired results stay, and how to clear them anyway."""
    held = clear["kept"]
    if not held:
        return []
    reasons = ", ".join((f"{have['items']:,} " if len(held) > 1 else "") + phrases.WHY_KEPT[reason] for reason, have in held.items())
    items, tokens = (sum(have[name] for have in held.values()) for name in ("items", "tokens"))
    noun = "result" if clear["tier"] or clear["ids"] else "expired result"
    words = f"Kept: {units.counted(items, noun)}, {units.long_tokens(tokens)} ({reasons})."
    if "pinned" in held and (clear["tier"] or clear["ids"] or clear["pattern"]):
        words += f" To release a pin: {command} unpin."
    return ["", *text.wrap(words, indent="  ")]


def _undone_lines(clear: Clear, command: str, words: str) -> list[text.Line]:
    """Return that nothing was changed, with the command that would do it, unless it would lose reasoning and not pay."""
    goes = _goes(clear)
    lines = text.wrap("Nothing was changed." + (" To clear:" if goes else ""))
    if goes:
        return lines + _command(command, words, _NOW if clear["now"] else "")
    if clear["thinking"]:
        lines += text.wrap("With this model a clear also loses the reasoning that followed these results, so it is better not to force it.")
    if clear["cold"]["tokens"] and clear["wait_s"]:
        lines += ["To clear once the cache is cold:", *_command(command, words)]
    if not clear["tokens"] and not (_has_held(clear) and not clear["now"]):
        return [*lines, "To clear some now, name them, for example:", *_command(command, "--id T1,T2", _NOW)]
    if not clear["thinking"]:
        held = ", including results held back:" if _has_held(clear) else ":"
        lines += ["To clear now anyway" + held, *_command(command, words, _NOW)]
    return lines


def _has_held(clear: Clear) -> bool:
    """Return whether --now would take more: results that expired and are held back."""
    return not (clear["tier"] or clear["ids"]) and any(reason in _HELD for reason in clear["kept"])


def _command(command: str, words: str, *flags: str) -> list[text.Line]:
    return phrases.command_lines(" ".join(filter(None, [command, "clear", words, *flags])))


def _done_lines(clear: Clear, command: str) -> list[text.Line]:
    if clear["later"]:
        lines = text.wrap(f"Nothing has left yet. It leaves {phrases.RESUMED}, before the first request.")
        lines += ["", phrases.resume(clear["session"]), "", "To cancel it before that:"]
        return [*lines, *phrases.command_lines(f"{command} undo")]
    lines = text.wrap("Everything is archived, and a placeholder stands in for each result.")
    lines += text.wrap("It leaves the running conversation at once, or when Claude is done: there is nothing to load again.")
    lines += ["", "To put everything back, or one result:", *phrases.command_lines(f"{command} undo")]
    return lines + phrases.command_lines(f"{command} restore ID --in-place")


def taken_lines(report: Report) -> list[text.Line]:
    """Return the largest results that a clear would take, whatever their tier."""
    lines = text.title("What a clear would take")
    rows = sorted(filter(is_reclaimable, report["results"]), key=lambda row: -row["tokens"])
    have = report["reclaimable"]["now"]
    if not have["tokens"]:
        return [*lines, "Nothing: no result is worth clearing."]
    lines += [result_line(row) for row in rows[:_MOST_TAKEN]]
    lines += _smaller_ones(rows, _MOST_TAKEN)
    net = have["tokens"] - have["further"]
    if rows:
        lines += text.wrap(f"Together {units.long_tokens(_tokens(rows))}; {units.long_tokens(net)} leave, because placeholders stay.")
    if have["further"]:
        further, all = units.long_tokens(have["further"]), units.long_tokens(have["tokens"])
        lines += text.wrap(f"The least needed of the rest: {further} more, {all} in all.")
    return lines
