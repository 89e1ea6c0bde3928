"""What people read of a bill: what each prompt holds, what could go, what the whole was spent on. Data in, lines out. Pure."""

from __future__ import annotations

import shlex
import time

from .. import text
from ..hosts import CLAUDE_CODE
from .phrases import agent_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# part of the whole -> in words
_PARTS = {
    "standing": "What comes before your first word, in each request",
    "conversation": "The conversation, as it is sent with each request",
    "pauses": "Written again after a pause longer than the cache lives",
    "lost": "Written again for other reasons: popkit bill misses",
    "output": "What {agent} wrote, thinking included",
}
# kind of what a conversation is made of, beside results -> in words
_KINDS = {
    "said": "your words, with files and pictures",
    "wrote": "answers",
    "thought": "thinking",
    "called": "inputs of calls",
    "summary": "summaries that compactions left",
    "added": "reminders, texts of hooks and skills",
    "other": "not in the transcript, such as tools loaded later",
    "untold": "not broken down: an older PopKit read this, and the transcripts are gone",
}
MOST_KINDS = 8  # rows of them that are shown unasked
_ELSEWHERE = (
    "This project has had no conversation since then. Go to the folder in which you run Claude Code, look further back (--since 52w), or"
    " name transcripts: popkit bill PATH"
)
_ASIDE = 24  # columns before the words of a row
_MOST_PROPOSED, _MOST_DRAFTS = 10, 3
_SHORTEST = 10  # columns for words


def lines_of(bill: dict[str, Any], now: float, details: bool, most: int = MOST_KINDS) -> list[text.Line]:
    """Return the bill of a project; `most`: rows of what the conversation was made of, all of them with 0."""
    lines = [*text.title("The bill"), *text.pair("Project", bill["project"])]
    lines += _standing(bill, now, details) if bill["rows"] else _unknown(bill)
    if bill["hidden"]:
        lines += ["", *text.title("Out of this project's prompts")[1:]]
        for row in bill["hidden"].values():
            lines += text.wrap(f"{_hidden(row)}: popkit bill show {text.clean(row.get('name', ''))}", "  ")
    since = f"this project since {_day(bill['since'])}"
    lines += whole_lines(bill["whole"], since, bill["prices_of"], most=most)
    lines += lifetime_lines(bill["cache_lifetime"])
    return lines if bill["whole"]["sessions"] else [*lines, "", *text.wrap(_ELSEWHERE)]


def _hidden(row: dict[str, Any]) -> str:
    how = "deferred" if row.get("defer") else "hidden"
    return f"{text.clean(row.get('name', ''))} ({text.short_tokens(row.get('tokens') or 0)}), {how} since {_day(row.get('at') or 0)}"


def _standing(bill: dict[str, Any], now: float, details: bool) -> list[text.Line]:
    estimated, pace, tokens = bill["estimated"], bill["pace"], bill["tokens"]
    known = (
        f"{text.long_tokens(tokens)} come before your first word in each prompt, as Claude Code estimated on {_day(estimated['at'] or 0)}."
    )
    if bill["first_prompt"]:
        known += f" The newest session began with {text.long_tokens(bill['first_prompt'])} by the provider's count, less your words."
    lines = text.pair("Before", known)
    at_pace = f", at your pace of {text.counted(pace['requests'], 'request')} a month" if pace["is_told"] else ""
    lines += text.pair("Costs", _monthly(tokens, pace) + at_pace)
    if estimated["missing"]:
        lines += text.pair("Partial", f"not understood in what Claude Code says: {', '.join(sorted(set(estimated['missing'])))}")
    if estimated["problem"]:
        why, at = text.clean(estimated["problem"].get("why")), estimated["problem"].get("at") or 0
        lines += text.pair("Older", f"what Claude Code said on {_day(at)} could not be used: {why}")
    lines += ["", _row("tokens", "share", "$/month", "what")]
    for row in bill["rows"]:
        lines.append(_row_of(row, bill, now, ""))
        if details:
            lines += [_row_of(part, bill, now, "  ") for part in row["parts"]]
    return lines + _proposals(bill, now)


def _row_of(row: dict[str, Any], bill: dict[str, Any], now: float, indent: str) -> text.Line:
    words = indent + _words(row, now)
    usd = row["tokens"] * bill["pace"]["usd"]
    part = text.percent(row["tokens"] / bill["tokens"]) if bill["tokens"] and row["tokens"] else ""
    return _row(f"{row['tokens']:,}" if row["tokens"] else "-", part, f"{usd:,.2f}" if bill["pace"]["usd"] and row["tokens"] else "", words)


def _words(row: dict[str, Any], now: float) -> str:
    used = _used(row["used"], now)
    return _name_and_demand(row) + (f"; {used}" if used else "")


def _name_and_demand(row: dict[str, Any]) -> str:
    words = _named(row)
    return words + f": on demand, {text.short_tokens(row['on_demand'])} once Claude loads it" if row["deferred"] else words


def phrases(bill: dict[str, Any], now: float) -> dict[str, Any]:
    """Return what a page says of a bill, in the order of the bill's: `rows` and `kinds` {words, used, parts}, `proposals` and `hidden` in
    words, `drafts` [words, what to run], `parts` of the whole by name; how long the cache should live (`lifetime`), and what to set for
    that (`lifetime_settings`)."""
    return {
        "rows": [_phrase(row, _name_and_demand, now) for row in bill["rows"]],
        "kinds": [_phrase(row, kind_words, now) for row in bill["whole"]["kinds"]],
        "proposals": [hiding(row, bill["pace"], now) for row in bill["proposals"]],
        "drafts": [[drafting(row, bill["pace"]), draft_words(row)] for row in bill["drafts"][:_MOST_DRAFTS]],
        "hidden": [_hidden(row) for row in bill["hidden"].values()],
        "parts": _parts(bill["whole"]),
        **lifetime_phrases(bill["cache_lifetime"]),
        "unknown": "" if bill["rows"] else _unknown_words(bill),
    }


def _phrase(row: dict[str, Any], words: Callable[[dict[str, Any]], str], now: float) -> dict[str, Any]:
    below = part_words if row["kind"] == "server" and words is kind_words else words
    return {"words": words(row), "used": _used(row["used"], now), "parts": [_phrase(part, below, now) for part in row["parts"]]}


def _parts(whole: dict[str, Any]) -> dict[str, str]:
    """Return the parts of a whole in words, by name."""
    return {name: words.format(agent=agent_of(whole["hosts"])) for name, words in _PARTS.items()}


def _named(row: dict[str, Any]) -> str:
    name = text.clean(row["name"])
    if row["kind"] == "server":
        return f"MCP server {name} ({text.counted(len(row['parts']), 'tool')})"
    if row["kind"] == "memory":
        return f"{name} ({text.clean(row['source'])})" if row["source"] else name
    if row["kind"] in ("skills", "agents"):
        return f"{name} ({len(row['parts']):,})"
    return name


def _used(used: list[float] | None, now: float) -> str:
    if used is None:
        return ""
    times, at = used
    return f"last used {text.span(now - at)} ago, {text.counted(int(times), 'time')} in all" if times else "never used"


def _proposals(bill: dict[str, Any], now: float) -> list[text.Line]:
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
    for row in drafts:
        lines += [*text.wrap(drafting(row, bill["pace"]), "  "), *text.wrap(f"  {draft_words(row)}", "  ")]
    return lines


def drafting(row: dict[str, Any], pace: dict[str, Any]) -> str:
    """Return the saving of moving a section into a skill."""
    worth = f"{text.long_tokens(row['tokens'])} less in each prompt, but for the skill's own line{_also_monthly(row['tokens'], pace)}"
    return f"Section {text.quote(row['name'])} of {text.clean(row['file'])}, as a skill: {worth}. Whether it is used cannot be seen."


def draft_words(row: dict[str, Any]) -> str:
    """Return the words that write the draft of a skill from a section."""
    name = f"{text.clean(row['file'])}#{text.clean(row['name'])}"
    return f"popkit bill draft-skill {shlex.quote(name)} --out draft-of-a-skill.md"


def hiding(row: dict[str, Any], pace: dict[str, Any], now: float) -> str:
    """Return the saving of hiding or deferring a server or tool."""
    worth = f"{text.long_tokens(row['tokens'])} less in each prompt{_also_monthly(row['tokens'], pace)}"
    if not row["tokens"]:
        worth = "nothing in a prompt until Claude loads it"
    return f"{_named(row)}: {worth}; {_used(row['used'], now)}."


def _also_monthly(tokens: int, pace: dict[str, Any]) -> str:
    """Return what that comes to in a month, after a comma; "" where no month is told."""
    return ", " + _monthly(tokens, pace) if pace["is_told"] else ""


def _monthly(tokens: int, pace: dict[str, Any]) -> str:
    if not pace["is_told"]:
        return "dollars a month unknown until sessions here cover three days"
    if not pace["usd"]:
        return (
            "dollars unknown, as no request here has a model with a known price"
            if pace["requests"]
            else "dollars unknown, as there was no request in this time"
        )
    more = f" ({text.counted(pace['unpriced'], 'request')} of models without a known price left out)" if pace["unpriced"] else ""
    return f"${tokens * pace['usd']:,.2f} a month{more}"


def _unknown(bill: dict[str, Any]) -> list[text.Line]:
    """Return the lines that need no breakdown from the client, and how to get one."""
    lines: list[text.Line] = []
    if bill["first_prompt"]:
        tokens = bill["first_prompt"]
        began = f"the newest session began with {text.long_tokens(tokens)} before your first word (its first prompt, less your words)"
        lines += text.pair("Before", f"{began}: {_monthly(tokens, bill['pace'])}")
    return lines + text.pair("Of what", _unknown_words(bill))


def _unknown_words(bill: dict[str, Any]) -> str:
    problem, hosts = bill["estimated"]["problem"], bill["whole"]["hosts"]
    if len(hosts) == 1 and hosts != [CLAUDE_CODE]:
        return f"{hosts[0]} does not say. Claude Code 2.1.326 or later would, in the same project."
    why = f"What Claude Code said could not be used: {text.clean(problem.get('why'))}." if problem else "Claude Code has not said yet."
    ask = "Run Claude Code 2.1.326 or later here with PopKit: after the first turn it is known, and /popkit bill shows it."
    return f"{why} {ask}"


def whole_lines(
    whole: dict[str, Any], of: str, dated: str, began: list[int] | None = None, most: int = MOST_KINDS
) -> list[text.Line]:  # fmt: skip
    """Return the lines on what requests were paid for. `of`: which, in words; `dated`: the month of the prices; `began`: tokens before the
    first word of each conversation; `most`: rows of what it was made of, all of them, and their parts, with 0."""
    lines = text.title("What the bill was made of")
    more = f", and {text.counted(whole['unpriced'], 'request')} of models without a known price" if whole["unpriced"] else ""
    spent = f"{text.counted(whole['sessions'], 'conversation')}, {text.counted(whole['requests'], 'request')}: ${whole['usd']:,.2f}{more}"
    lines += text.pair("Covers", f"{of}: {spent}")
    if began:
        lines += text.pair(
            "Before", f"{text.long_tokens(sum(began) / len(began))} came before the first word" + (", on average" if began[1:] else "")
        )
    if not whole["usd"]:
        return lines
    lines += ["", _row("", "share", "dollars", "what")]
    for name, words in _parts(whole).items():
        lines.append(_paid(whole["parts"][name], whole, words))
        if name == "conversation":
            lines += _kinds(whole, most)
    at = f" of {dated}" if dated else ""
    note = f"Dollars are at the prices of the API{at}. A subscription counts tokens toward its limits. Tokens that were written"
    note += " again count at what that cost beyond reading them."
    return [*lines, "", *text.wrap(note)]


# --- the cache's lifetime ---

_LIVES = {"5m": "five minutes", "1h": "an hour"}
_PAYS = {"5m": "Five minutes pay", "1h": "An hour pays"}
# of whom -> (in words, the setting of Claude Code, the variable that has it, too)
_CHOSEN = {
    "main": ("your sessions", "promptCacheTtl", "CLAUDE_CODE_PROMPT_CACHE_TTL"),
    "subagents": ("subagents", "subagentPromptCacheTtl", "CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL"),
}
_OLDER = {"5m": "FORCE_PROMPT_CACHING_5M=1", "1h": "ENABLE_PROMPT_CACHING_1H=1"}


def lifetime_lines(lifetime: dict[str, Any]) -> list[text.Line]:
    """Return the lines on how long the prompt cache should live, with what to set; [] where no request tells. Nothing is set here."""
    told, changes = _told(lifetime), _lifetime_changes(lifetime)
    if not told:
        return []
    lines = text.title("How long the prompt cache lives")
    for whose, one in told.items():
        lines += text.wrap(_lifetime_words(whose, one))
    if not changes:
        return lines
    lines += ["", *text.wrap("To set it, in ~/.claude/settings.json, or for this project in .claude/settings.local.json:")]
    lines += [text.whole("  " + _lifetime_setting(whose, pays)) for whose, pays in changes.items()]
    lines += text.wrap("Or in a shell, before Claude Code starts:")
    lines += [text.whole(f"  export {_CHOSEN[whose][2]}={pays}") for whose, pays in changes.items()]
    older = " or ".join(dict.fromkeys(_OLDER[pays] for pays in changes.values()))
    note = f"PopKit does not set it. Versions of Claude Code that do not know these may know {older}, for sessions and subagents together."
    return [*lines, *text.wrap(note)]


def lifetime_phrases(lifetime: dict[str, Any]) -> dict[str, list[str]]:
    """Return the same in sentences (`lifetime`), and what to set (`lifetime_settings`)."""
    return {
        "lifetime": [_lifetime_words(whose, one) for whose, one in _told(lifetime).items()],
        "lifetime_settings": [_lifetime_setting(whose, pays) for whose, pays in _lifetime_changes(lifetime).items()],
    }


def _told(lifetime: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {whose: one for whose, one in lifetime.items() if one is not None}


def _lifetime_changes(lifetime: dict[str, Any]) -> dict[str, str]:
    """Return whose -> the lifetime that pays and that they do not have."""
    return {whose: one["pays"] for whose, one in _told(lifetime).items() if one["pays"] not in ("", one["has"])}


def _lifetime_setting(whose: str, pays: str) -> str:
    return f'"{_CHOSEN[whose][1]}": "{pays}"'


def _lifetime_words(whose: str, one: dict[str, Any]) -> str:
    """Return which lifetime pays, and by how much."""
    who, pauses = _CHOSEN[whose][0], text.counted(one["pauses"], "pause")
    if not one["pays"]:
        return f"For {who} it does not matter whether it lives five minutes or an hour: the two differ by less than 1 %."
    other = "5m" if one["pays"] == "1h" else "1h"
    share = text.percent(one["share"])
    usd = f", ${one['usd_per_month']:,.2f} a month" if one["usd_per_month"] is not None else ""
    has = " You have that." if one["has"] == one["pays"] else f" Now it lives {_LIVES[one['has']]}." if one["has"] else ""
    return (
        f"{_PAYS[one['pays']]} for {who}: {share} less than with {_LIVES[other]}{usd} ({text.counted(one['requests'], 'request')}, {pauses}"
        f" between five minutes and an hour).{has}"
    )


def _paid(usd: float, whole: dict[str, Any], words: str) -> text.Line:
    return _row("", text.percent(usd / whole["usd"]), f"{usd:,.2f}", words)


def _kinds(whole: dict[str, Any], most: int) -> list[text.Line]:
    rows = [row for row in whole["kinds"] if row["usd"]]
    shown, rest = (rows[:most], rows[most:]) if most else (rows, [])
    lines: list[text.Line] = []
    for row in shown:
        lines.append(_paid(row["usd"], whole, "  " + kind_words(row)))
        lines += [_paid(part["usd"], whole, "    " + part_words(part)) for part in row["parts"] if not most]
    if rest:
        lines.append(_paid(sum(row["usd"] for row in rest), whole, f"  {len(rest):,} more: bill --details lists them"))
    return lines


def kind_words(row: dict[str, Any]) -> str:
    """Return the words of a row of a conversation's kinds."""
    if row["kind"] not in ("result", "server"):
        return _KINDS.get(row["kind"], row["kind"])
    if not row["name"]:
        return "results of calls missing from the transcripts"
    if row["kind"] == "server":
        return f"results of MCP server {text.clean(row['name'])}{_counts(row)}"
    return f"results of {text.clean(row['name'])}{_counts(row)}"


def part_words(row: dict[str, Any]) -> str:
    """Return the words of a row of a server's tools."""
    return text.clean(row["name"].split("__", 2)[-1]) + _counts(row)


def _counts(row: dict[str, Any]) -> str:
    """Return how many tools and calls the results of a row come from, where that is known."""
    counts = [text.counted(len(row["parts"]), "tool")] if row["parts"] else []
    counts += [text.counted(int(row["used"][0]), "call")] if row.get("used") else []
    return f" ({', '.join(counts)})" if counts else ""


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at))


def _row(tokens: str, share: str, usd: str, words: str) -> text.Line:
    head = f"{tokens:>7}{share:>6}{usd:>9}  "
    indent = " " * (len(words) - len(words.lstrip()))

    def lines(columns: int) -> list[str]:
        first, *rest = text.wrapped(words, max(_SHORTEST, columns - _ASIDE), indent)
        return [head + first, *(" " * _ASIDE + line for line in rest)]

    return lines
