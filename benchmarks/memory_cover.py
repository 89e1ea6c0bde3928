"""What memory covers of what later sessions of a repository look up.

The sessions of each repository are gone through in order of time. Before each but the first,
MEMORY.md is built of what the earlier ones taught, the way it is built for a user: transcript -> Lesson -> store -> document.

A *need* is a name of 12 characters or more (`policy/outlines.py`) that the assistant wrote and knew only from results of this session
(`lab/sent_requests.py`); it counts where an earlier session of the repository held it anywhere, in what was said or in what was returned.
Absolute paths are taken for what the repository calls them. It is *covered* where it stands in MEMORY.md as a whole word, the map written
out as full paths. `of all`: covered of all needs, those that no earlier session held too. A look-up, a search or a read, is *spared*
where the assistant needed names that it knew first from its result, and all of them are covered. `foreign`: the share of a repository's
needs that MEMORY.md of another repository covers at the same budget, mean over the others. `tokens`: of MEMORY.md, mean.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

import memory_transcripts

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.io import repository
from popkit_retention.core.policy import kinds
from popkit_retention.core.policy.classify import classify
from popkit_retention.core.policy.outlines import NAME
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.state.memory_reading import paths_in
from popkit_retention.lab import sent_requests
from popkit_retention.lab.recorded import Session, strings_of
from popkit_retention.memory import document, extraction
from popkit_retention.memory.learning import learn
from popkit_retention.memory.stores.in_memory import InMemoryStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from popkit_retention.memory.lessons import Lesson

TOKENS = (500, 2_000)
_NEED = re.compile(NAME + r"\Z")
_LINES = re.compile(r":\d+(?:[-:,]\d+)*\Z")


@dataclass
class Taught:
    """What one session taught and needed. `needs`: names as the repository knows them; `known`: those that an earlier session held;
    `lookups`: of each search or read the names that were needed of it first."""

    lesson: Lesson
    needs: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    lookups: list[set[str]] = field(default_factory=list)


@dataclass
class Row:
    """What memory of so many tokens covered, over the sessions that had an earlier one. `foreign`: a share for each other memory."""

    repository: str
    budget: int
    sessions: int = 0
    known: int = 0
    covered: int = 0
    needs: int = 0
    all_covered: int = 0
    spared: int = 0
    used: int = 0  # tokens of the documents
    foreign: list[float] = field(default_factory=list)

    def shown(self) -> dict[str, object]:
        return {
            "repository": self.repository, "budget": self.budget, "covered": self.covered / max(1, self.known),
            "of all": self.all_covered / max(1, self.needs), "spared a session": self.spared / max(1, self.sessions),
            "foreign": sum(self.foreign) / max(1, len(self.foreign)), "tokens": round(self.used / max(1, self.sessions)),
            "needs": self.known, "sessions": self.sessions,
        }  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    memory_transcripts.add_option(parser)
    parser.add_argument("--tokens", type=int, nargs="+", default=TOKENS, help="budgets of MEMORY.md")


def run(options: argparse.Namespace) -> list[dict[str, object]]:
    """A row for each budget and repository, and for each budget one of all."""
    with memory_transcripts.by_repository(options.transcripts) as paths:
        by_repository = read(paths)
    rows = []
    for budget in options.tokens:
        found = [rows_of(name, some, budget) for name, some in by_repository.items()]
        _foreign(found, by_repository, budget)
        rows += [row.shown() for row in [*found, _sum(found, budget)] if row.sessions]
    return rows


def read(paths: dict[str, list[Path]]) -> dict[str, list[Taught]]:
    """repository -> its sessions in order of time."""
    by_repository = {}
    for name, some in paths.items():
        found = [(session.requests[0].sent_at, path.name, session) for path in some if (session := _session(path)).requests]
        if found:
            by_repository[name] = _sessions_of(sorted(found, key=lambda one: one[:2]), name)
    return by_repository


def _session(path: Path) -> Session:
    return sent_requests.read(str(path), with_texts=True)


def _sessions_of(some: list, name: str) -> list[Taught]:
    seen: set[str] = set()
    sessions = []
    rules = Ruleset.from_config({}, TOOLS)
    for _, _, session in some:
        place = repository.of(session.cwd or "/nowhere")
        lesson = extraction.lesson(session.path, repository.Repository(name, place.root, place.name))
        taught = Taught(lesson)
        firsts = defaultdict(set)
        for request in session.requests:
            for string, held in request.needs:
                if _NEED.match(string):
                    need = _named(string, place.root)
                    taught.needs.add(need)
                    if string in seen or need in seen:
                        taught.known.add(need)
                    firsts[held[0]].add(need)
        for block, needs in firsts.items():
            if kinds.of(classify(block.call, block.call.cwd, rules).kind).is_lookup:
                taught.lookups.append(needs)
        seen.update(*(_all_names(text, place.root) for text in _texts(session)))
        sessions.append(taught)
    return sessions


def _texts(session: Session) -> Iterator[str]:
    for step in session.steps:
        if step[0] == "add":
            yield step[1].text or session.texts.get(step[1], "")


def _all_names(text: str, root: str) -> Iterator[str]:
    for string in strings_of(text):
        if _NEED.match(string):
            yield string
            yield _named(string, root)


def _named(name: str, root: str) -> str:
    """A name as the repository knows it: a path from its top, without lines. What a name is has lost the slash before it."""
    name = _LINES.sub("", name)
    return repository.within("/" + name, root) or repository.within(name, root) or name


def written_out(text: str) -> str:
    """MEMORY.md with its tree as full paths, one a line."""
    return "\n".join([text, *paths_in(text)])


def covers(text: str, need: str) -> bool:
    """Whether a written-out MEMORY.md holds a need as a whole word."""
    at = text.find(need)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(need) : at + len(need) + 1]
        if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
            return True
        at = text.find(need, at + 1)
    return False


def rows_of(name: str, sessions: list[Taught], budget: int) -> Row:
    row, store = Row(name, budget), InMemoryStore()
    for number, session in enumerate(sessions, 1):
        if number > 1:
            made = document.build(store.scan(name), budget, verdicts={})
            text = written_out(made.text)
            covered = {need for need in session.needs if covers(text, need)}
            row.sessions += 1
            row.used += made.tokens
            row.known += len(session.known)
            row.covered += len(covered & session.known)
            row.needs += len(session.needs)
            row.all_covered += len(covered)
            row.spared += sum(needs <= covered for needs in session.lookups)
        learn(store, session.lesson, session.lesson.ended)
    return row


def final(name: str, sessions: list[Taught], budget: int) -> document.Document:
    """The MEMORY.md that all sessions of a repository lead to."""
    store = InMemoryStore()
    for session in sessions:
        learn(store, session.lesson, session.lesson.ended)
    return document.build(store.scan(name), budget, verdicts={})


def _foreign(rows: list[Row], by_repository: dict[str, list[Taught]], budget: int) -> None:
    texts = {name: written_out(final(name, some, budget).text) for name, some in by_repository.items()}
    for row in rows:
        needs = [need for session in by_repository[row.repository][1:] for need in session.known]
        if needs:
            row.foreign = [
                sum(covers(text, need) for need in needs) / len(needs) for other, text in texts.items() if other != row.repository
            ]


def _sum(rows: list[Row], budget: int) -> Row:
    whole = Row("all", budget, foreign=[share for row in rows for share in row.foreign])
    for name in ("sessions", "known", "covered", "needs", "all_covered", "spared", "used"):
        setattr(whole, name, sum(getattr(row, name) for row in rows))
    return whole
