"""Memory: items, how they rise and fall, and what of them is told. The one door for commands, hooks' children and other agents' authors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .items import Item
    from .lessons import Lesson
    from .stores import Store


class NotThere(LookupError):
    """No item of that id; the message names it, and says how to find one."""


class Memory:
    """The memory of one project over a store. `now` is asked for the time (seconds); every change is logged with its reasons."""

    def __init__(self, store: Store, project: str = "", now: Callable[[], float] | None = None) -> None: ...

    # --- asking ------------------------------------------------------------------------------------------------------------------------
    def status(self) -> dict[str, object]:
        """`tiers`: tier -> items, tokens; `levels`; `marked`; `runs`: the job's last run, its failures; `alerts`; `document`: tokens of MEMORY.md;
        `accesses` lately; `on`. As JSON knows it."""

    def list(self, tiers: Sequence[str] = (), kinds: Sequence[str] = (), marked: bool | None = False, most: int = 50) -> list[Item]:
        """Items, what is worth most first."""

    def search(self, words: str, most: int = 10) -> list[tuple[Item, float]]:
        """The items that answer best, each with its relevance; they count as accessed."""

    def show(self, id: str) -> Item:
        """An item by its id, or the beginning of one that is no other's."""

    def why(self, id: str) -> dict[str, object]:
        """`item`, `signals`, `score`, `retention`, `decision` (tier it is due to get, reasons), `next` (what comes next if nobody asks for it,
        and when), `log`."""

    # --- changing -------------------------------------------------------------------------------------------------------------------
    def add(self, text: str, kind: str = "note", **fields: object) -> Item:
        """Keeps a new item; BadItem, DuplicateId."""

    def pin(self, ids: Sequence[str]) -> list[Item]: ...
    def unpin(self, ids: Sequence[str]) -> list[Item]: ...
    def promote(self, ids: Sequence[str]) -> list[Item]: ...
    def demote(self, ids: Sequence[str]) -> list[Item]: ...
    def restore(self, ids: Sequence[str]) -> list[Item]:
        """Back to the full text, from any level."""

    def forget(self, ids: Sequence[str]) -> list[Item]:
        """Marks items; they are deleted when 24 h have passed."""

    def undo(self, ids: Sequence[str] = ()) -> list[Item]:
        """Takes marks back: those of these items, or of all that were forgotten last."""

    # --- learning and keeping house ----------------------------------------------------------------------------------------------
    def learn(self, lesson: Lesson) -> dict[str, int]:
        """Merges what a session taught: `added`, `strengthened`, `used`. Learnt again it replaces what the session taught before."""

    def run(self, force: bool = False) -> dict[str, object]:
        """The job: scores, moves, compresses, deletes what is due, backs up."""

    def document(self, tokens: int = 500) -> object:
        """MEMORY.md: see `document.Document`."""

    def loss(self) -> dict[str, object]: ...
    def export(self) -> Iterable[str]:
        """JSON lines: a head, then an item each with its full text."""

    def take_in(self, lines: Iterable[str]) -> int:
        """Imports JSON lines, all or nothing; how many items. BadItem names the line."""
