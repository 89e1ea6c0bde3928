"""How many look-ups the ledger would call spared where nothing was spared.

    python benchmarks/memory_spared.py FOLDER [--tokens N]

Each session below FOLDER had no memory. It is taken as if it had been given the MEMORY.md that the earlier sessions of its repository make:
what the ledger counts then, the assistant knew from elsewhere. Sessions of one repository are those whose files begin with the same word
before two underscores.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "power-mode")]

from hooks.utils.host.repository import Repository, of  # noqa: E402  the benchmark runs from anywhere
from hooks.utils.policy.ruleset import Ruleset  # noqa: E402
from hooks.utils.state import journal, rebuild  # noqa: E402
from popkit_retention.cli import sessions  # noqa: E402
from popkit_retention.memory import document  # noqa: E402
from popkit_retention.memory.extraction import lesson  # noqa: E402
from popkit_retention.memory.lessons import Lesson  # noqa: E402
from popkit_retention.memory.memory import Memory  # noqa: E402
from popkit_retention.memory.stores.in_memory import InMemoryStore  # noqa: E402


def lessons(paths: list[Path], name: str) -> list:
    """(lesson, path) of the sessions of a repository, in order of time."""
    taught = [(lesson_of(path, name), path) for path in paths]
    return sorted([each for each in taught if each[0] is not None], key=lambda each: each[0].began)


def lesson_of(path: Path, name: str) -> Lesson | None:
    """What a transcript teaches; None for a file that is none."""
    try:
        return lesson(str(path), Repository(name, of(sessions.check(str(path))).root, name))
    except (sessions.NoSession, OSError):
        return None


def ledgers(paths: list[Path], name: str, tokens: int) -> list[dict]:
    """The ledger of each session of a repository but the first."""
    rules, found, store = Ruleset.from_config({}), [], InMemoryStore()
    for taught, path in lessons(paths, name):
        given = document.build(store.scan(name), tokens)
        if given.text:
            entry = journal.remembered(given.text, given.tokens, taught.began - 1)
            found.append(rebuild.rebuild(str(path), [entry], lambda _profile: rules).state.counts.ledger)
        Memory(store, name, now=partial(float, taught.ended + 60)).learn(taught)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="transcripts, REPOSITORY__anything.jsonl")
    parser.add_argument("--tokens", type=int, default=500, help="of MEMORY.md")
    options = parser.parse_args()
    of_repository: dict[str, list[Path]] = {}
    for path in sorted(options.folder.glob("*.jsonl")):
        of_repository.setdefault(path.name.partition("__")[0], []).append(path)
    found = [ledger for name, paths in of_repository.items() for ledger in ledgers(paths, name, options.tokens)]
    if not found:
        print("no repository has two sessions there", file=sys.stderr)
        return 1
    spared = [ledger.get("spared", 0) for ledger in found]
    print(f"{len(found)} sessions without memory, given one of {options.tokens} tokens")
    print(
        f"called spared, falsely: {sum(spared)} look-ups, {sum(spared) / len(spared):.2f} a session; {spared.count(0)} sessions with none"
    )
    for name, key in (("saved, falsely", "saved_memory"), ("charged", "charged_memory")):
        print(f"{name}: {sum(ledger.get(key, 0) for ledger in found) / len(found):,.0f} units a session")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
