"""The stores: the memory of a project, and the list of all stores in our folder, which doctor, uninstall and the page go through."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import import_module

from hooks.utils.io import files, storage
from hooks.utils.policy.estimate import estimate_tokens
from hooks.utils.state import memory as memory_state
from hooks.utils.state.memory_records import CONTENT
from hooks.utils.state.site import Site
from hooks.utils.units import size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from hooks.utils.io.storage import Storage
    from hooks.utils.state.memory import Project

    from ..memory.items import Lesson
    from ..memory.learning import Learnt
    from ..memory.memory import Memory

# How long to wait for other processes that learn for the project: several sessions may end at once.
_LEARNING_S = 30.0


class Place:
    """The project that a folder belongs to. `project`: its files, which hooks write. The memory is opened when it is first used, and closed
    at the end of the `with`. `makes`: create a store where there is none."""

    __slots__ = ("_memory", "environ", "folder", "makes", "project", "site")

    def __init__(self, environ: Mapping[str, str], folder: str, makes: bool = True) -> None:
        self.environ = environ
        self.makes = makes
        self.folder = folder
        self.site = Site(environ, "", folder)
        self.project = memory_state.project_of(self.site.home, folder)
        self._memory: Memory | None = None

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *_exc: object) -> None:
        if self._memory is not None:
            self._memory.close()

    @property
    def name(self) -> str:
        """Return what a person calls the project."""
        return self.project.repository.name

    @property
    def memory(self) -> Memory:
        """Return the memory of the project; StoreUnavailable where the store cannot be opened."""
        if self._memory is None:
            from ..memory.memory import Memory

            self._memory = Memory.of(self.environ, self.folder, self.makes)
        return self._memory

    def learn(self, lesson: Lesson) -> Learnt:
        """Store the lesson of a session, in place of an earlier one of the same session, while no other process learns for this project.
        LockTimeout where another process takes too long."""
        files.make_private_folder(self.project.folder, may_be_link=False)
        memory = self.memory  # which takes a while to open
        with files.Lock(self.project.lock_path, _LEARNING_S):
            return memory.learn(lesson)

    @property
    def tokens(self) -> int:
        """Return how many tokens MEMORY.md may have, as the user has configured it."""
        return memory_state.tokens_of(self.site.config)

    @property
    def document_tokens(self) -> int:
        """Return the tokens (an estimate) of the MEMORY.md that the next session gets; 0 where it gets none."""
        try:
            return estimate_tokens(self.project.document(), CONTENT) if self.project.is_on() else 0
        except memory_state.TooLarge:
            return 0  # a session does not get it either

    @property
    def theirs(self) -> dict[str, object]:
        """Return Claude Code's own memory of the project: its `folder`, the `document_tokens` of the MEMORY.md that every request carries,
        the number of `topics`, which the model reads when it needs them, and their `topic_tokens`."""
        theirs = self.memory.theirs
        return {
            "folder": theirs.folder,
            "document_tokens": estimate_tokens(theirs.document, CONTENT),
            "topics": len(theirs.topics),
            "topic_tokens": sum(estimate_tokens(topic, CONTENT) for topic in theirs.topics.values()),
        }

    def refresh(self) -> None:
        """Write MEMORY.md again, where sessions get it."""
        if self.project.is_on():
            write_document(self.project, self.memory, self.site.config)


def write_document(project: Project, memory: Memory, config: Mapping[str, Any]) -> None:
    """Write a project's MEMORY.md, within the budget of a configuration."""
    document = memory.audited_document(memory_state.tokens_of(config))
    project.write_document(document.text, document.entries)


# --- all of them ---


# The modules that declare a STORAGE, in the order in which doctor checks them.
STORES = (
    "hooks.utils.archive",
    "hooks.utils.config.fields",
    "hooks.utils.config.gone",
    "hooks.utils.hosts.opencode.kept_transcripts",
    "hooks.utils.io.hook_log",
    "hooks.utils.reclaim.auto_compaction",
    "hooks.utils.state.limit_readings",
    "hooks.utils.state.prompt_breakdowns",
    "hooks.utils.state.status_line",
    "hooks.utils.state.sockets",
    "hooks.utils.state.closed",
    "hooks.utils.state.sweeping",
    "popkit_retention.extras",
    "popkit_retention.memory.health",
    "popkit_retention.governance.health",
    "popkit_retention.governance.manifests",
    "popkit_retention.usage.configured_database",
    "popkit_retention.bill.digests",
    "popkit_retention.dashboard.server",
    "popkit_retention.cli.doctor_command",
    "popkit_retention.cli.opencode_setup",
    "popkit_retention.cli.shell_setup",
    "popkit_retention.cli.claude_settings",
)


@lru_cache(maxsize=1)
def every() -> tuple[Storage, ...]:
    """Return the STORAGE of all stores."""
    return tuple(each for name in STORES for each in import_module(name).STORAGE)


def owner(popkit_home: str, path: str) -> Storage | None:
    """Return the store that a file below our folder belongs to; None for a file that PopKit did not make. The folder may hold other things:
    POPKIT_HOME can be the host's own folder, or the user's, each with a `projects` of its own."""
    below = storage.below(popkit_home, path)
    return next((each for each in every() if each.owns(popkit_home, below)), None)


def folders() -> set[str]:
    """Return the names of the folders that PopKit makes directly in its own."""
    return {folder.partition("/")[0] for each in every() for folder in each.files if folder}


def trees(popkit_home: str) -> Iterator[str]:
    """Yield the folders, from ours on, below which files may be ours, links left out."""
    for folder in sorted({folder for each in every() for folder in each.files if folder}):
        first = os.path.join(popkit_home, folder.partition("/")[0])
        if not os.path.islink(first) and not os.path.islink(os.path.join(popkit_home, folder)):
            yield folder


def paths(popkit_home: str) -> Iterator[str]:
    """Yield the files where ours may be: directly in our folder, and below the folders that PopKit makes in it."""
    for folder in ("", *trees(popkit_home)):
        yield from storage.paths_in(popkit_home, folder)


def sizes(popkit_home: str) -> dict[str, dict[str, int]]:
    """Return title -> {`files`, `bytes`} of what is there, the largest first; "" is for files in these folders that PopKit did not make."""
    by_title: dict[str, dict[str, int]] = {}
    for path in paths(popkit_home):
        mine = owner(popkit_home, path)
        known = by_title.setdefault(mine.title if mine else "", {"files": 0, "bytes": 0})
        known["files"] += 1
        known["bytes"] += storage.size_of(path)
    return dict(sorted(by_title.items(), key=lambda each: -each[1]["bytes"]))


def is_shared(popkit_home: str) -> bool:
    """Return whether others keep something of their own in our folder: POPKIT_HOME is the host's, or the user's."""
    ours = folders()
    return any(name not in ours and not owner(popkit_home, os.path.join(popkit_home, name)) for name in os.listdir(popkit_home))


def in_words(sizes: Mapping[str, Mapping[str, int]]) -> str:
    """Return titles and sizes, as in: archive 12 MB, kept originals 47 MB. Empty ones are left out."""
    return ", ".join(f"{title or 'other files'} {size(each['bytes'])}" for title, each in sizes.items() if each["bytes"])
