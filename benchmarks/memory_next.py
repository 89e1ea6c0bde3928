"""What the next session uses of MEMORY.md, and whether it is right.

The sessions of each repository are gone through in order of time. Before each but the first, MEMORY.md is built of what the earlier ones
taught, and judged by the session that follows:

- `reads`: files of the repository that it read, each once, but for those that it wrote itself; `named`: of these, those whose whole path
  stands in MEMORY.md; `plain list`: those in a list of the paths that were touched lately, newest first, one a line, of as many tokens;
  `known`: those that any earlier session touched. Means of a session.
- `used`: the share of items in MEMORY.md that the session made use of: it touched the file, ran a command of the family, wrote the name,
  met the error. Notes are left out: whether somebody kept to one, a transcript does not tell. Over all items; `used in a working session`:
  over the sessions that touched ten files or more.
- `used lines`: the share of lines in MEMORY.md of which the session used anything, for whoever reads lines: a command, a folder with its
  files and the names in them, an error with its fix, the names of a file that is not listed. A folder counts where one of its files was
  used, so this is the kinder of the two shares.
- `wrong`: paths in MEMORY.md that no earlier session had touched with success, or that it had found to be gone.
- `commands`: memories with a test or build command, of the repositories in which one ended well in three sessions (`where`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

import memory_transcripts
from sections import MissingData

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.io.repository import Repository, of, within
from popkit_retention.core.policy.classify import classify
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.policy.tools import EDITS, READS, SHELLS
from popkit_retention.core.state.memory_records import CONTENT
from popkit_retention.memory import document, extraction
from popkit_retention.memory.extraction.line_runs import runs_of
from popkit_retention.memory.extraction.records import AssistantText, CallResult
from popkit_retention.memory.items import COMMAND, ERROR, NAME, PATH
from popkit_retention.memory.learning import learn
from popkit_retention.memory.stores.in_memory import InMemoryStore
from popkit_retention.operations import session_lookup

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from popkit_retention.memory.items import Item
    from popkit_retention.memory.lessons import Lesson

TOKENS = (500, 2_000)
BUSY = 10
FIRST = (1, 2, 3, 4)
_WORD = re.compile(r"[A-Za-z0-9_$]+")
_CHECKS = re.compile(r"\b(?:test|build|pytest|vitest|jest|tsc)\b")


@dataclass
class Seen:
    """What a session did. `touched`: file -> when, with success; `gone`: files that a failed call showed to be missing."""

    lesson: Lesson
    touched: dict[str, int] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    families: set[str] = field(default_factory=set)
    checked: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    results: list[str] = field(default_factory=list)


def add_options(parser: argparse.ArgumentParser) -> None:
    memory_transcripts.add_option(parser)
    parser.add_argument("--tokens", type=int, nargs="+", default=TOKENS, help="budgets of MEMORY.md")


def run(options: argparse.Namespace) -> list[dict[str, object]]:
    """A row for each budget and repository; for each budget those of all after so many sessions (FIRST), and one of all."""
    with memory_transcripts.by_repository(options.transcripts) as paths:
        seen = {name: found for name, some in paths.items() if len(found := read(some, name)) > 1}
    if not seen:
        raise MissingData(f"no repository has two sessions in {options.transcripts}")
    rows = []
    for budget in options.tokens:
        judged = {name: judge(name, some, budget) for name, some in seen.items()}
        rows += [shown(name, budget, found) for name, found in judged.items()]
        for count in FIRST:
            first = [found[count - 1] for found in judged.values() if len(found) >= count]
            rows += [shown(f"all, after {count}", budget, first)] if first else []
        rows.append(shown("all", budget, [one for found in judged.values() for one in found]))
    return rows


def read(paths: list[Path], name: str) -> list[Seen]:
    """Return what the sessions of a repository did, in order of time."""
    found = []
    for path in paths:
        try:
            root = of(session_lookup.check(str(path)) or "/nowhere").root
        except (session_lookup.NoSession, OSError):
            continue
        found.append(_seen(str(path), Seen(extraction.lesson(str(path), Repository(name, root, name))), root))
    return sorted(found, key=lambda one: one.lesson.began)


def _seen(path: str, seen: Seen, root: str) -> Seen:
    rules = Ruleset.from_config({}, TOOLS)
    for event in extraction.conversation(path):
        if isinstance(event, AssistantText):
            seen.written.update(_WORD.findall(event.text))
        if not isinstance(event, CallResult):
            continue
        call, cwd = event.call, event.cwd or root
        seen.results.append(event.text[:4_000])
        if call.operation in SHELLS:
            runs, _ = runs_of(call.command, cwd, root)
            seen.families.update(each.family for each in runs)
            if not call.outcome.error:
                seen.checked.update(each.text for each in runs if _CHECKS.search(each.text))
        paths = [call.path] if call.operation in READS | EDITS else []
        if call.operation in SHELLS:
            paths = [part[len("read:") :] for part, _ in classify(call, cwd, rules).parts if part.startswith("read:")]
        for each in paths:
            inside = within(each if each.startswith("/") or each[1:2] == ":" else f"{cwd}/{each}", root)
            if not inside:
                continue
            if call.outcome.error:
                seen.gone |= {inside} if call.operation in READS and inside not in seen.touched else set()
                continue
            if call.operation not in SHELLS and call.operation not in EDITS and inside not in seen.touched:
                seen.reads.append(inside)
            seen.touched[inside] = len(seen.touched)
    return seen


@dataclass
class Judged:
    """How one MEMORY.md did in the session after it."""

    reads: int
    named: int
    plain: int
    known: int
    items: int
    used: int
    lines: int
    used_lines: int
    wrong: int
    tokens: int
    busy: bool
    has_checks: bool
    ought_to: bool


def judge(name: str, seen: list[Seen], budget: int) -> list[Judged]:
    """Return a Judged for each session of a repository but the first."""
    store, judged = InMemoryStore(), []
    last: dict[str, tuple[int, int]] = {}
    gone: set[str] = set()
    checked: dict[str, int] = defaultdict(int)
    for number, session in enumerate(seen):
        if number:
            items = {item.id: item for item in store.scan(name)}
            made = document.build(items.values(), budget, verdicts={})
            listed = [items[id] for id in made.items if items[id].kind in (PATH, NAME, COMMAND, ERROR)]
            paths = {item.text for item in listed if item.kind == PATH}
            by_line: dict[tuple[str, str], list[bool]] = defaultdict(list)
            for item in listed:
                by_line[line_of(item, paths)].append(is_used(item, session))
            judged.append(
                Judged(
                    len(session.reads), sum(path in paths for path in session.reads),
                    sum(path in plain_list(last, budget) for path in session.reads), sum(path in last for path in session.reads),
                    len(listed), sum(map(sum, by_line.values())), len(by_line), sum(map(any, by_line.values())),
                    len(paths - set(last)) + len(paths & gone), made.tokens,
                    len(session.touched) >= BUSY, any(item.kind == COMMAND and _CHECKS.search(item.text) for item in listed),
                    checked["sessions"] >= 3,
                )
            )  # fmt: skip
        checked["sessions"] += bool(session.checked)
        last.update({path: (number, at) for path, at in session.touched.items()})
        gone = (gone | session.gone) - set(session.touched)
        learn(store, session.lesson, session.lesson.ended)
    return judged


def plain_list(last: dict[str, tuple[int, int]], budget: int) -> set[str]:
    """Return the paths that were touched lately, of so many tokens in a plain list."""
    listed: list[str] = []
    for path in sorted(last, key=lambda path: last[path], reverse=True):
        if estimate_tokens("\n".join([*listed, path]), CONTENT) > budget:
            break
        listed.append(path)
    return set(listed)


def line_of(item: Item, paths: set[str]) -> tuple[str, str]:
    """Return what names the line of MEMORY.md that an item stands in, these being the paths that are listed."""
    file = item.text if item.kind == PATH else str(item.details.get("defined_in") or "") if item.kind == NAME else ""
    if file in paths:
        return PATH, file.rpartition("/")[0]
    return item.kind, file or item.text


def is_used(item: Item, session: Seen) -> bool:
    """Return whether a session made use of an item."""
    if item.kind == PATH:
        return item.text in session.touched
    if item.kind == COMMAND:
        runs, _ = runs_of(item.text, "/x", "/x")
        return any(run.family in session.families for run in runs)
    if item.kind == NAME:
        return set(_WORD.findall(item.text)) <= session.written
    message = item.text.partition(": ")[2]
    return any(message in text for text in session.results)


def shown(name: str, budget: int, judged: list[Judged]) -> dict[str, object]:
    """Return the row of these sessions."""

    def mean(of_it: str) -> float:
        return sum(getattr(one, of_it) for one in judged) / len(judged)

    busy = [one for one in judged if one.busy]
    ought = [one for one in judged if one.ought_to]
    return {
        "repository": name, "budget": budget, "sessions": len(judged), "reads": round(mean("reads"), 2), "known": round(mean("known"), 2),
        "plain list": round(mean("plain"), 2), "named": round(mean("named"), 2), "items": round(mean("items"), 1),
        "lines": round(mean("lines"), 1),
        "used": mean("used") / max(1.0, mean("items")),
        "used lines": mean("used_lines") / max(1.0, mean("lines")),
        "used in a working session": sum(one.used for one in busy) / max(1, sum(one.items for one in busy)),
        "used lines in a working session": sum(one.used_lines for one in busy) / max(1, sum(one.lines for one in busy)),
        "wrong": sum(one.wrong for one in judged), "tokens": round(mean("tokens")),
        "commands": sum(one.has_checks for one in ought), "where": len(ought),
    }  # fmt: skip
