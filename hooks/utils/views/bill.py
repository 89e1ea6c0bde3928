"""What people read of a bill: what stands in each prompt, what could go, what the whole was paid for. Data in, lines out. Pure."""

from __future__ import annotations

import time

from .. import text
from ..hosts import CLAUDE_CODE
from .phrases import agent_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# part of the whole -> in words
_PARTS = {
    "standing": "What stands before your first word, in each request",
    "conversation": "The conversation as it is sent: results, prompts, answers",
    "pauses": "Written again after a pause longer than the cache lives",
    "lost": "Written again for other reasons: popkit misses",
    "output": "What {agent} wrote, thinking included",
}
_ASIDE = 24  # columns before the words of a row
_MOST_PROPOSED = 10
_SHORTEST = 10  # columns for words


def lines_of(bill: dict[str, Any], now: float, details: bool) -> list[text.Line]:
    """Return the bill of a project."""
    lines = [*text.title("The bill"), *text.pair("Project", bill["project"])]
    lines += _standing(bill, now, details) if bill["rows"] else _unknown(bill)
    if bill["hidden"]:
        lines += ["", *text.title("Hidden in this project")[1:]]
        for row in bill["hidden"].values():
            name = text.clean(row.get("name", ""))
            lines += text.wrap(
                f"{name} ({text.short_tokens(row.get('tokens') or 0)}), since {_day(row.get('at') or 0)}: popkit bill show {name}", "  "
            )
    since = f"this project since {_day(bill['since'])}"
    return [*lines, *whole_lines(bill["whole"], since, bill["prices_of"])]


def _standing(bill: dict[str, Any], now: float, details: bool) -> list[text.Line]:
    estimated, pace, tokens = bill["estimated"], bill["pace"], bill["tokens"]
    known = (
        f"{text.long_tokens(tokens)} stand in each prompt before your first word, as Claude Code estimated on {_day(estimated['at'] or 0)}."
    )
    if bill["first_prompt"]:
        known += f" The newest session began with {text.long_tokens(bill['first_prompt'])} by the provider's count, less your words."
    lines = text.pair("Before", known)
    lines += text.pair("Costs", _monthly(tokens, pace) + f", at your pace of {text.counted(pace['requests'], 'request')} a month")
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
    share = f"{row['tokens'] / bill['tokens']:.0%}" if bill["tokens"] and row["tokens"] else ""
    return _row(
        f"{row['tokens']:,}" if row["tokens"] else "-", share, f"{usd:,.2f}" if bill["pace"]["usd"] and row["tokens"] else "", words
    )


def _words(row: dict[str, Any], now: float) -> str:
    words = _named(row)
    if row["deferred"]:
        words += f": on demand, {text.short_tokens(row['on_demand'])} once Claude loads it"
    if row["used"] is not None:
        words += f"; {_used(row['used'], now)}"
    return words


def phrases(bill: dict[str, Any], now: float) -> dict[str, Any]:
    """Return what a page says of a bill: `rows` and `proposals` in words, in the order of the bill's, and `parts` of the whole by name."""
    return {
        "rows": [_words(row, now) for row in bill["rows"]],
        "proposals": [hiding(row, bill["pace"], now) for row in bill["proposals"]],
        "parts": _parts(bill["whole"]),
        "unknown": "" if bill["rows"] else _unknown_words(bill),
    }


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


def _used(used: list[float], now: float) -> str:
    times, at = used
    return f"last used {text.span(now - at)} ago, {text.counted(int(times), 'time')} in all" if times else "never used"


def _proposals(bill: dict[str, Any], now: float) -> list[text.Line]:
    proposed = bill["proposals"]
    if not proposed:
        return []
    lines = ["", *text.title("Could go")[1:]]
    for row in proposed[:_MOST_PROPOSED]:
        lines += [*text.wrap(hiding(row, bill["pace"], now), "  "), *text.wrap(f"  popkit bill hide {text.clean(row['name'])}", "  ")]
    if len(proposed) > _MOST_PROPOSED:
        lines += text.wrap(f"{len(proposed) - _MOST_PROPOSED:,} more: popkit bill --json")
    return lines


def hiding(row: dict[str, Any], pace: dict[str, Any], now: float) -> str:
    """Return what hiding a server or tool comes to."""
    worth = f"{text.long_tokens(row['tokens'])} less in each prompt, {_monthly(row['tokens'], pace)}"
    if not row["tokens"]:
        worth = "nothing in a prompt until Claude loads it"
    return f"{_named(row)}: {worth}; {_used(row['used'], now)}."


def _monthly(tokens: int, pace: dict[str, Any]) -> str:
    if not pace["usd"]:
        return (
            "dollars unknown, as no request here has a model with a known price"
            if pace["requests"]
            else "dollars unknown, as there are no requests"
        )
    more = f" ({text.counted(pace['unpriced'], 'request')} of models without a known price left out)" if pace["unpriced"] else ""
    return f"${tokens * pace['usd']:,.2f} a month{more}"


def _unknown(bill: dict[str, Any]) -> list[text.Line]:
    """Return what is known without the client's breakdown, and how to get it."""
    lines: list[text.Line] = []
    if bill["first_prompt"]:
        tokens = bill["first_prompt"]
        began = f"the newest session began with {text.long_tokens(tokens)} before your first word (its first prompt, less your words)"
        lines += text.pair("Before", f"{began}: {_monthly(tokens, bill['pace'])}")
    return lines + text.pair("Of what", _unknown_words(bill))


def _unknown_words(bill: dict[str, Any]) -> str:
    problem, hosts = bill["estimated"]["problem"], bill["whole"]["hosts"]
    if len(hosts) == 1 and hosts != [CLAUDE_CODE]:
        return f"{hosts[0]} does not say. Claude Code 2.1.287 or later would, in the same project."
    why = f"What Claude Code said could not be used: {text.clean(problem.get('why'))}." if problem else "Claude Code has not said yet."
    ask = "Run Claude Code 2.1.287 or later here with PopKit: after the first turn it is known, and /popkit bill shows it."
    return f"{why} {ask}"


def whole_lines(whole: dict[str, Any], of: str, dated: str, began: list[int] | None = None) -> list[text.Line]:
    """Return what requests were paid for. `of`: which, in words; `dated`: the month of the prices; `began`: tokens before the first word of
    each conversation."""
    lines = text.title("What it was paid for")
    more = f", and {text.counted(whole['unpriced'], 'request')} of models without a known price" if whole["unpriced"] else ""
    spent = f"{text.counted(whole['sessions'], 'conversation')}, {text.counted(whole['requests'], 'request')}: ${whole['usd']:,.2f}{more}"
    lines += text.pair("Covers", f"{of}: {spent}")
    if began:
        lines += text.pair(
            "Before", f"{text.long_tokens(sum(began) / len(began))} stood before the first word" + (", on average" if began[1:] else "")
        )
    if not whole["usd"]:
        return lines
    lines += ["", _row("", "share", "dollars", "what")]
    for name, words in _parts(whole).items():
        usd = whole["parts"][name]
        lines.append(_row("", f"{usd / whole['usd']:.0%}", f"{usd:,.2f}", words))
    at = f" of {dated}" if dated else ""
    note = f"Dollars are at the prices of the API{at}. A subscription counts tokens toward its limits. What was written again counts as"
    note += " what it cost beyond reading it."
    return [*lines, "", *text.wrap(note)]


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at))


def _row(tokens: str, share: str, usd: str, words: str) -> text.Line:
    head = f"{tokens:>7}{share:>6}{usd:>9}  "
    indent = " " * (len(words) - len(words.lstrip()))

    def lines(columns: int) -> list[str]:
        first, *rest = text.wrapped(words, max(_SHORTEST, columns - _ASIDE), indent)
        return [head + first, *(" " * _ASIDE + line for line in rest)]

    return lines
