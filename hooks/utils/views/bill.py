"""The text of a bill: what each prompt held, what it could do without. Data in, lines out. Pure."""

from __future__ import annotations

import shlex
import time

from .. import text, units
from ..hosts import CLAUDE_CODE
from .cache_lifetime import lifetime_lines, lifetime_phrases
from .paid_for import MOST_KINDS, kind_words, message_lines, part_words, parts_of, row_of_bill, whole_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..policy.shapes import KindRow
    from ..state.hidden_tools import HiddenTool
    from .shapes import Bill, Draft, Pace, PromptRow

_ELSEWHERE = (
    "This project has had no conversation since then. Go to the folder in which you run Claude Code, look further back (--since 52w), or"
    " name transcripts: popkit bill PATH"
)
_MOST_PROPOSED, _MOST_DRAFTS = 10, 3


def lines_of(bill: Bill, now: float, details: bool, most: int = MOST_KINDS) -> list[text.Line]:
    """Return the bill of a project; `most`: rows for the contents of the conversation, all of them with 0."""
    lines = [*text.title("The bill"), *text.pair("Project", bill["project"])]
    lines += _standing(bill, now, details) if bill["rows"] else _unknown(bill)
    if bill["hidden"]:
        lines += ["", *text.title("Out of this project's prompts")[1:]]
        for row in bill["hidden"].values():
            lines += text.wrap(f"{_hidden(row)}: popkit bill show {text.clean(row['name'])}", "  ")
    lines += message_lines(bill["messages"], most)
    since = f"this project since {_day(bill['since'])}"
    lines += whole_lines(bill["whole"], since, bill["prices_of"], most=most)
    lines += lifetime_lines(bill["cache_lifetime"])
    return lines if bill["whole"]["sessions"] else [*lines, "", *text.wrap(_ELSEWHERE)]


def _hidden(row: HiddenTool) -> str:
    how = "deferred" if row.get("defer") else "hidden"
    return f"{text.clean(row['name'])} ({units.short_tokens(row['tokens'])}), {how} since {_day(row['at'])}"


def _standing(bill: Bill, now: float, details: bool) -> list[text.Line]:
    estimated, pace, tokens = bill["estimated"], bill["pace"], bill["tokens"]
    known = (
        f"{units.long_tokens(tokens)} come before your first word in each prompt, as Claude Code estimated on {_day(estimated['at'] or 0)}."
    )
    if bill["first_prompt"]:
        known += f" The newest session began with {units.long_tokens(bill['first_prompt'])} by the provider's count, less your words."
    lines = text.pair("Before", known)
    at_pace = f", at your pace of {units.counted(pace['requests'], 'request')} a month" if pace["is_told"] and pace["requests"] else ""
    lines += text.pair("Costs", _monthly(tokens, pace) + at_pace)
    if estimated["missing"]:
        lines += text.pair("Partial", f"not understood in what Claude Code says: {', '.join(sorted(set(estimated['missing'])))}")
    if estimated["problem"]:
        why, at = text.clean(estimated["problem"]["why"]), estimated["problem"]["at"]
        lines += text.pair("Older", f"what Claude Code said on {_day(at)} could not be used: {why}")
    lines += ["", row_of_bill("tokens", "share", "$/month", "what")]
    for row in bill["rows"]:
        lines.append(_row_of(row, bill, now, ""))
        if details:
            lines += [_row_of(part, bill, now, "  ") for part in row["parts"]]
    return lines + _proposals(bill, now)


def _row_of(row: PromptRow, bill: Bill, now: float, indent: str) -> text.Line:
    words = indent + _words(row, now)
    usd = row["tokens"] * bill["pace"]["usd"]
    part = units.percent(row["tokens"] / bill["tokens"]) if bill["tokens"] and row["tokens"] else ""
    return row_of_bill(
        f"{row['tokens']:,}" if row["tokens"] else "-", part, f"{usd:,.2f}" if bill["pace"]["usd"] and row["tokens"] else "", words
    )


def _words(row: PromptRow, now: float) -> str:
    used = _used(row["used"], now)
    return _name_and_demand(row) + (f"; {used}" if used else "")


def _name_and_demand(row: PromptRow) -> str:
    words = _named(row)
    return words + f": on demand, {units.short_tokens(row['on_demand'])} once Claude loads it" if row["deferred"] else words


def phrases(bill: Bill, now: float) -> dict[str, Any]:
    """Return what a page says of a bill: BillPhrases of its tile."""
    return {
        "rows": [_row_phrase(row, now) for row in bill["rows"]],
        "kinds": [_kind_phrase(row, kind_words(row), now) for row in bill["whole"]["kinds"]],
        "proposals": [hiding(row, bill["pace"], now) for row in bill["proposals"]],
        "drafts": [[drafting(row, bill["pace"]), draft_words(row)] for row in bill["drafts"][:_MOST_DRAFTS]],
        "hidden": [_hidden(row) for row in bill["hidden"].values()],
        "parts": parts_of(bill["whole"]),
        **lifetime_phrases(bill["cache_lifetime"]),
        "unknown": "" if bill["rows"] else _unknown_words(bill),
    }


def _row_phrase(row: PromptRow, now: float) -> dict[str, Any]:
    parts = [_row_phrase(part, now) for part in row["parts"]]
    return {"words": _name_and_demand(row), "used": _used(row["used"], now), "parts": parts}


def _kind_phrase(row: KindRow, words: str, now: float) -> dict[str, Any]:
    parts = [_kind_phrase(part, part_words(part), now) for part in row["parts"]]
    return {"words": words, "used": _used(row["used"], now), "parts": parts}


def _named(row: PromptRow) -> str:
    name = text.clean(row["name"])
    if row["kind"] == "server":
        return f"MCP server {name} ({units.counted(len(row['parts']), 'tool')})"
    if row["kind"] == "memory":
        return f"{name} ({text.clean(row['source'])})" if row["source"] else name
    if row["kind"] in ("skills", "agents"):
        return f"{name} ({len(row['parts']):,})"
    return name


def _used(used: list[float] | None, now: float) -> str:
    if used is None:
        return ""
    times, at = used
    return f"last used {units.span(now - at)} ago, {units.counted(int(times), 'time')} in all" if times else "never used"


def _proposals(bill: Bill, now: float) -> list[text.Line]:
    proposed, drafts = bill["proposals"], bill["drafts"][:_MOST_DRAFTS]
    if not proposed and not drafts:
        return []
    lines = ["", *text.title("Could go")[1:]]
    for row in proposed[:_MOST_PROPOSED]:
        name = text.clean(row["name"])
        lines += [*text.wrap(hiding(row, bill["pace"], now), "  "), *text.wrap(f"  popkit bill hide {name}", "  ")]
        lines += text.wrap(f"  popkit bill defer {name}: Claude still finds it", "  ")
    if len(proposed) > _MOST_PROPOSED:
        lines += text.wrap(f"{len(proposed) - _MOST_PROPOSED:,} more: popkit bill --json")
    for draft in drafts:
        lines += [*text.wrap(drafting(draft, bill["pace"]), "  "), *text.wrap(f"  {draft_words(draft)}", "  ")]
    return lines


def drafting(row: Draft, pace: Pace) -> str:
    """Return the saving of moving a section into a skill."""
    worth = f"{units.long_tokens(row['tokens'])} less in each prompt, but for the skill's own line{_also_monthly(row['tokens'], pace)}"
    return f"Section {text.quote(row['name'])} of {text.clean(row['file'])}, as a skill: {worth}. Whether it is used cannot be seen."


def draft_words(row: Draft) -> str:
    """Return the words that write the draft of a skill from a section."""
    name = f"{text.clean(row['file'])}#{text.clean(row['name'])}"
    return f"popkit bill draft-skill {shlex.quote(name)} --out draft-of-a-skill.md"


def hiding(row: PromptRow, pace: Pace, now: float) -> str:
    """Return the saving of hiding or deferring a server or tool."""
    worth = f"{units.long_tokens(row['tokens'])} less in each prompt{_also_monthly(row['tokens'], pace)}"
    if not row["tokens"]:
        worth = "nothing in a prompt until Claude loads it"
    return f"{_named(row)}: {worth}; {_used(row['used'], now)}."


def _also_monthly(tokens: int, pace: Pace) -> str:
    """Return what that comes to in a month, after a comma; "" where no month is told."""
    return ", " + _monthly(tokens, pace) if pace["is_told"] else ""


def _monthly(tokens: int, pace: Pace) -> str:
    if not pace["is_told"]:
        return "dollars a month unknown until sessions here cover three days"
    if not pace["usd"]:
        return (
            "dollars unknown, as no request here has a model with a known price"
            if pace["requests"]
            else "dollars unknown, as there was no request in this time"
        )
    more = f" ({units.counted(pace['unpriced'], 'request')} of models without a known price left out)" if pace["unpriced"] else ""
    return f"${tokens * pace['usd']:,.2f} a month{more}"


def _unknown(bill: Bill) -> list[text.Line]:
    """Return the lines that need no breakdown from the client, and how to get one."""
    lines: list[text.Line] = []
    if bill["first_prompt"]:
        tokens = bill["first_prompt"]
        began = f"the newest session began with {units.long_tokens(tokens)} before your first word (its first prompt, less your words)"
        lines += text.pair("Before", f"{began}: {_monthly(tokens, bill['pace'])}")
    return lines + text.pair("Of what", _unknown_words(bill))


def _unknown_words(bill: Bill) -> str:
    problem, hosts = bill["estimated"]["problem"], bill["whole"]["hosts"]
    if len(hosts) == 1 and hosts != [CLAUDE_CODE]:
        return f"{hosts[0]} does not say. Claude Code 2.1.326 or later would, in the same project."
    why = f"What Claude Code said could not be used: {text.clean(problem['why'])}." if problem else "Claude Code has not said yet."
    ask = "Run Claude Code 2.1.326 or later here with PopKit: after the first turn it is known, and /popkit bill shows it."
    return f"{why} {ask}"


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at))
