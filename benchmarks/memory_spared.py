"""How many look-ups the ledger would call spared where nothing was spared.

Each recorded session had no memory. It is taken as if it had been given the MEMORY.md that the earlier sessions of its repository make:
what the ledger counts then, the assistant knew from elsewhere. `spared falsely` and the units are means of a session: what was `saved
falsely`, and what memory is `charged` for its tokens.
"""

from __future__ import annotations

from functools import partial

import memory_transcripts
from sections import MissingData

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.io.repository import Repository, of
from popkit_retention.core.policy.ruleset import MEMORY_TOKENS, Ruleset
from popkit_retention.core.state import journal, rebuild
from popkit_retention.memory import document
from popkit_retention.memory.extraction import lesson
from popkit_retention.memory.memory import Memory
from popkit_retention.memory.stores.in_memory import InMemoryStore
from popkit_retention.operations import session_lookup

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from popkit_retention.memory.lessons import Lesson


def add_options(parser: argparse.ArgumentParser) -> None:
    memory_transcripts.add_option(parser)
    parser.add_argument("--tokens", type=int, default=MEMORY_TOKENS, help="of MEMORY.md (default: %(default)s)")


def run(options: argparse.Namespace) -> list[dict[str, object]]:
    """One row, over the sessions that had an earlier one in their repository."""
    with memory_transcripts.by_repository(options.transcripts) as paths:
        found = [ledger for name, some in paths.items() for ledger in ledgers(some, name, options.tokens)]
    if not found:
        raise MissingData(f"no repository has two sessions in {options.transcripts}")
    spared = [ledger.get("spared", 0) for ledger in found]
    return [
        {
            "tokens": options.tokens, "sessions": len(found), "with none": spared.count(0), "spared falsely": sum(spared) / len(found),
            "saved falsely": round(sum(ledger.get("saved_memory", 0) for ledger in found) / len(found)),
            "charged": round(sum(ledger.get("charged_memory", 0) for ledger in found) / len(found)),
        }
    ]  # fmt: skip


def ledgers(paths: list[Path], name: str, tokens: int) -> list[dict]:
    """The ledger of each session of a repository but the first."""
    rules, found, store = Ruleset.from_config({}, TOOLS), [], InMemoryStore()
    for taught, path in lessons(paths, name):
        given = document.build(store.scan(name), tokens, verdicts={})
        if given.text:
            entry = journal.remembered(given.text, given.tokens, taught.began - 1)
            found.append(rebuild.rebuild(str(path), [entry], lambda _profile: rules).state.counts.ledger)
        Memory(store, name, now=partial(float, taught.ended + 60)).learn(taught)
    return found


def lessons(paths: list[Path], name: str) -> list[tuple[Lesson, Path]]:
    """(lesson, path) of the sessions of a repository, in order of time."""
    taught = [(found, path) for path in paths if (found := lesson_of(path, name)) is not None]
    return sorted(taught, key=lambda each: each[0].began)


def lesson_of(path: Path, name: str) -> Lesson | None:
    """What a transcript teaches; None for a file that is none."""
    try:
        return lesson(str(path), Repository(name, of(session_lookup.check(str(path))).root, name))
    except (session_lookup.NoSession, OSError):
        return None
