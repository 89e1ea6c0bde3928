"""What a list of so many files names and how many of them are used, whatever room they take: in our order, and in the best there is.

The sessions of each repository are gone through as `next` does. Before each but the first, the files that earlier ones touched are ranked
by their worth to MEMORY.md; the best is that of somebody who knows what the session will touch. Of each ranking the first so many files
count. `used`: the share of them that the session touches; `named`: of the files that it reads, those among them, mean of a session.
"""

from __future__ import annotations

import memory_next
import memory_transcripts
from sections import MissingData

from popkit_retention.memory import document
from popkit_retention.memory.items import PATH
from popkit_retention.memory.learning import learn
from popkit_retention.memory.stores.in_memory import InMemoryStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from memory_next import Seen

    from popkit_retention.memory.items import Item

    Ranked = list[tuple[list[str], Seen]]

FILES = (3, 10, 20, 60, 115)


def add_options(parser: argparse.ArgumentParser) -> None:
    memory_transcripts.add_option(parser)
    parser.add_argument("--files", type=int, nargs="+", default=FILES, help="how many are listed")


def run(options: argparse.Namespace) -> list[dict[str, object]]:
    """A row for each number of files."""
    with memory_transcripts.by_repository(options.transcripts) as paths:
        seen = {name: found for name, some in paths.items() if len(found := memory_next.read(some, name)) > 1}
    if not seen:
        raise MissingData(f"no repository has two sessions in {options.transcripts}")
    ours = [each for name, some in seen.items() for each in ranked(name, some, lambda item, newest, _: -document.wanted(item, newest))]
    best = [each for name, some in seen.items() for each in ranked(name, some, lambda item, _, session: item.text not in session.touched)]
    return [_row(most, ours, best) for most in options.files]


def ranked(name: str, seen: list[Seen], worth: Callable[[Item, int, Seen], float]) -> Ranked:
    """Return the known files in order of worth, the least first, before each session of a repository but the first."""
    store, found = InMemoryStore(), []
    for number, session in enumerate(seen):
        if number:
            items = list(store.scan(name))
            newest = max([item.session for item in items], default=0)
            files = sorted(
                (worth(item, newest, session), item.text) for item in items if item.kind == PATH and not item.details.get("gone")
            )
            found.append(([text for _, text in files], session))
        learn(store, session.lesson, session.lesson.ended)
    return found


def _row(most: int, ours: Ranked, best: Ranked) -> dict[str, object]:
    row: dict[str, object] = {"files": most}
    for whose, some in (("ours", ours), ("best", best)):
        listed = [(set(files[:most]), session) for files, session in some]
        items = sum(len(files) for files, _ in listed)
        row[f"used, {whose}"] = sum(len(files & set(session.touched)) for files, session in listed) / max(1, items)
        row[f"named, {whose}"] = round(sum(len(files & set(session.reads)) for files, session in listed) / len(listed), 2)
    return row
