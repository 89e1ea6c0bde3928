"""The breakdown of what a bill's requests were paid for. Data in, lines out. Pure."""

from __future__ import annotations

from .. import text, units
from .phrases import agent_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..policy.shapes import KindRow
    from .shapes import BillTotal, Messages

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
}
MOST_KINDS = 8  # rows of them that are shown unasked
_ASIDE = 24  # columns before the words of a row
_SHORTEST = 10  # columns for words


def parts_of(whole: BillTotal) -> dict[str, str]:
    """Return the parts of a whole in words, by name."""
    return {name: words.format(agent=agent_of(whole["hosts"])) for name, words in _PARTS.items()}


def whole_lines(
    whole: BillTotal, of: str, dated: str, began: list[int] | None = None, most: int = MOST_KINDS
) -> list[text.Line]:  # fmt: skip
    """Return the lines on what requests were paid for. `of`: which, in words; `dated`: the month of the prices; `began`: tokens before the
    first word of each conversation; `most`: rows of what it was made of, all of them, and their parts, with 0."""
    lines = text.title("What the bill was made of")
    spent = f"{units.counted(whole['sessions'], 'conversation')}, {cost_of_requests(whole['requests'], whole['unpriced'], whole['usd'])}"
    lines += text.pair("Covers", f"{of}: {spent}")
    if began:
        lines += text.pair(
            "Before", f"{units.long_tokens(sum(began) / len(began))} came before the first word" + (", on average" if began[1:] else "")
        )
    if not whole["usd"]:
        return lines + _added(whole, most)
    lines += ["", row_of_bill("", "share", "dollars", "what")]
    for name, words in parts_of(whole).items():
        lines.append(_paid(whole["parts"][name], whole, words))
        if name == "conversation":
            lines += _kinds(whole, most)
    at = f" of {dated}" if dated else ""
    note = f"Dollars are at the prices of the API{at}. A subscription counts tokens toward its limits. Tokens that were written"
    note += " again count at what that cost beyond reading them."
    return [*lines, "", *text.wrap(note), *_added(whole, most)]


def cost_of_requests(requests: int, unpriced: int, usd: float) -> str:
    """Return what requests cost, in words; `unpriced` of them cost nobody knows what."""
    unknown = f", {unpriced:,} of them of models without a known price" if unpriced else ""
    return f"{units.counted(requests, 'request')}{unknown}: ${usd:,.2f}"


def _added(whole: BillTotal, most: int) -> list[text.Line]:
    """Return the lines on what the host has added by itself."""
    rows = whole["added"]
    if not rows:
        return []
    tokens, again = sum(row["tokens"] for row in rows), sum(row["tokens_again"] for row in rows)
    sums = f"{units.long_tokens(tokens)}, estimated" + (f"; {units.long_tokens(again)} stood in the prompt already" if again else "")
    title = f"What {whole['hosts'][0]} adds" if len(whole["hosts"]) == 1 else "What the hosts add"
    lines = ["", *text.title(title)[1:], *text.pair("In all", sums)]
    lines += ["", row_of_bill("tokens", "", "again", "what")]
    for row in rows[: most or None]:
        times = units.counted(row["times"], "time") + (f", {row['times_again']:,} of them again" if row["times_again"] else "")
        words = f"{text.clean(row['name']).replace('_', ' ')} ({times})"
        lines.append(row_of_bill(f"{row['tokens']:,}", "", f"{row['tokens_again']:,}" if row["tokens_again"] else "", words))
    if most and rows[most:]:
        rest = sum(row["tokens"] for row in rows[most:])
        lines.append(row_of_bill(f"{rest:,}", "", "", f"{len(rows) - most:,} more: bill --details lists them"))
    return lines


def message_lines(messages: Messages, most: int) -> list[text.Line]:
    """Return the lines on what the messages of the newest session hold; none where nothing is known."""
    rows, how = messages["rows"], "as Claude Code counts them" if messages["is_counted"] else "estimated"
    if not rows:
        return []
    whole = sum(row["tokens"] for row in rows)
    lines = ["", *text.title("What the newest session's messages hold")[1:], *text.pair("Sizes", how)]
    lines += ["", row_of_bill("tokens", "share", "", "what")]
    shown = [(row["tokens"], kind_words(row)) for row in rows[: most or None]]
    rest = sum(row["tokens"] for row in rows[most:]) if most else 0
    shown += [(rest, f"{len(rows) - most:,} more: bill --details lists them")] if rest else []
    return lines + [row_of_bill(f"{tokens:,}", units.percent(tokens / whole), "", words) for tokens, words in shown]


def _paid(usd: float, whole: BillTotal, words: str) -> text.Line:
    return row_of_bill("", units.percent(usd / whole["usd"]), f"{usd:,.2f}", words)


def _kinds(whole: BillTotal, most: int) -> list[text.Line]:
    rows = [row for row in whole["kinds"] if row["usd"]]
    shown, rest = (rows[:most], rows[most:]) if most else (rows, [])
    lines: list[text.Line] = []
    for row in shown:
        lines.append(_paid(row["usd"], whole, "  " + kind_words(row)))
        lines += [_paid(part["usd"], whole, "    " + part_words(part)) for part in row["parts"] if not most]
    if rest:
        lines.append(_paid(sum(row["usd"] for row in rest), whole, f"  {len(rest):,} more: bill --details lists them"))
    return lines


def kind_words(row: KindRow) -> str:
    """Return the words of a row of a conversation's kinds."""
    if row["kind"] not in ("result", "server"):
        return _KINDS.get(row["kind"], row["kind"])
    if not row["name"]:
        return "results of calls missing from the transcripts"
    if row["kind"] == "server":
        return f"results of MCP server {text.clean(row['name'])}{_counts(row)}"
    return f"results of {text.clean(row['name'])}{_counts(row)}"


def part_words(row: KindRow) -> str:
    """Return the words of a row of a server's tools."""
    return text.clean(row["name"].split("__", 2)[-1]) + _counts(row)


def _counts(row: KindRow) -> str:
    """Return how many tools and calls the results of a row come from, where that is known."""
    counts = [units.counted(len(row["parts"]), "tool")] if row["parts"] else []
    used = row.get("used")
    counts += [units.counted(int(used[0]), "call")] if used else []
    return f" ({', '.join(counts)})" if counts else ""


def row_of_bill(tokens: str, share: str, usd: str, words: str) -> text.Line:
    head = f"{tokens:>7}{share:>6}{usd:>9}  "
    indent = " " * (len(words) - len(words.lstrip()))

    def lines(columns: int) -> list[str]:
        first, *rest = text.wrapped(words, max(_SHORTEST, columns - _ASIDE), indent)
        return [head + first, *(" " * _ASIDE + line for line in rest)]

    return lines
