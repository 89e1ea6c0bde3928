"""The memory of the project that a folder belongs to."""

from __future__ import annotations

from popkit_retention.core.io import files
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.state import memory as memory_state
from popkit_retention.core.state.memory_records import CONTENT
from popkit_retention.core.state.site import Site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from popkit_retention.core.state.memory import Project

    from .learning import LearningResult
    from .lessons import Lesson
    from .memory import Memory

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
            from .memory import Memory

            self._memory = Memory.of(self.environ, self.folder, self.makes)
        return self._memory

    def learn(self, lesson: Lesson) -> LearningResult:
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
        except memory_state.MemoryTooLarge:
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
