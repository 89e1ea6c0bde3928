"""Find the project that a `popkit memory` is about: its repository, what hooks keep of its memory, and the memory itself."""

from __future__ import annotations

from hooks.utils.io import files
from hooks.utils.policy.estimate import estimate_tokens
from hooks.utils.state import live
from hooks.utils.state import memory as kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..memory.items import Lesson
    from ..memory.learning import Learnt
    from ..memory.memory import Memory

# So long it waits for others who learn for the project: an end of several sessions at once.
_LEARNING_S = 30.0


class Place:
    """The project that a folder belongs to. `project` is what hooks keep of it; the memory is opened when it is first asked for, and
    closed at the end of the `with`. `makes`: whether a store is made where there is none."""

    __slots__ = ("_memory", "environ", "folder", "makes", "project", "site")

    def __init__(self, environ: Mapping[str, str], folder: str, makes: bool = True) -> None:
        self.environ = environ
        self.makes = makes
        self.folder = folder
        self.site = live.Site(environ, "", folder)
        self.project = kept.project_of(self.site.home, folder)
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
        """Return its memory; StoreUnavailable where the store cannot be opened."""
        if self._memory is None:
            from ..memory.memory import Memory

            self._memory = Memory.of(self.environ, self.folder, self.makes)
        return self._memory

    def learn(self, lesson: Lesson) -> Learnt:
        """Learn a lesson while nobody else learns for this project: what a session taught before is replaced, not added to. LockTimeout
        where another process takes too long."""
        files.make_private_folder(self.project.folder, may_be_link=False)
        memory = self.memory  # which takes a while to open
        with files.Lock(self.project.lock_path, _LEARNING_S):
            return memory.learn(lesson)

    @property
    def tokens(self) -> int:
        """Return how many tokens MEMORY.md may have, as the user has configured it."""
        return kept.tokens_of(self.site.config)

    @property
    def document_tokens(self) -> int:
        """Return the tokens (an estimate) of the MEMORY.md that the next session is given; 0 where it is given none."""
        try:
            return estimate_tokens(self.project.document(), kept.CONTENT) if self.project.is_on() else 0
        except kept.TooLarge:
            return 0  # a session is not given it either

    @property
    def theirs(self) -> dict[str, object]:
        """Return what Claude Code's own memory of the project is: its `folder`, `document_tokens` of the MEMORY.md that every request
        carries, and how many `topics` there are, of `topic_tokens`, which the model reads when it needs them."""
        theirs = self.memory.theirs
        return {
            "folder": theirs.folder, "document_tokens": estimate_tokens(theirs.document, kept.CONTENT), "topics": len(theirs.topics),
            "topic_tokens": sum(estimate_tokens(topic, kept.CONTENT) for topic in theirs.topics.values()),
        }  # fmt: skip

    def refresh(self) -> None:
        """Write MEMORY.md again, where sessions are given it."""
        if self.project.is_on():
            made = self.memory.told(self.tokens)
            self.project.write_document(made.text, made.entries)
