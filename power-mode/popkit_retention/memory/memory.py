"""Memory: items, how they rise and fall, and what of them is told. The one door for commands, hooks' children and other agents' authors."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from hooks.utils.config import remembered
from hooks.utils.edges import files, home
from hooks.utils.edges.system import now as time_of_day
from hooks.utils.policy.masking import mask
from hooks.utils.policy.ruleset import MEMORY_TOKENS
from hooks.utils.state.memory import project_of

from ..extras import reach
from . import (
    backups,
    changes,
    document,
    exchange,
    forgotten,
    holds,
    job,
    learning,
    profiles,
    prompting,
    reports,
    search,
    transitions,
    vectors,
    wiping,
)
from .embedding import embed_items
from .folder import Folder
from .items import (
    BY_TOOL,
    BY_USER,
    CODE,
    FULL,
    KINDS,
    NOTE,
    PROSE,
    SPEC,
    USER,
    BadItem,
    Item,
    from_json,
    id_of,
)
from .stores import Batch, Change, Outdated, Store, audited
from .stores.in_memory import InMemoryStore
from .stores.opening import configured_store
from .summariser import summarise_with
from .terms import terms_of
from .transitions import Moment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .document import Document
    from .lessons import Lesson
    from .loss import Loss
    from .vectors import Embedder

    # `Memory.list` is a word of its users.
    Items = list[Item]
    Found = list[tuple[Item, float]]
    Losses = list[Loss]

# So many items get the embeddings of a model in one run of the job; the others follow.
EMBEDDED = 2_000


class NotThere(LookupError):
    """No item of that id, or several; the message says which, and how to find one."""


class Busy(RuntimeError):
    """Another process runs the job."""


class _Kind(NamedTuple):
    """A kind of change: why it is made, and whether items shall be learnt again no more (True), or may be (False)."""

    reason: str
    forgets: bool | None = None


_CHANGE = _Kind("you said so")
_REMEMBER = _Kind("you said so", False)
_FORGET = {BY_USER: _Kind("you said so", True), BY_TOOL: _Kind("an agent's tool said so", True)}


class Memory:
    """The memory of one project over a store: what is listed, searched and told is this project's; the job is for all. `now` is asked for
    the time (seconds). Every change is logged with its reasons. StoreUnavailable where the store cannot be used."""

    def __init__(
        self,
        store: Store,
        project: str = "",
        now: Callable[[], float] = time.time,
        folder: Folder | None = None,
        embedder: Embedder | None = None,
        summarise: Callable[[str], str] | None = None,
    ) -> None:
        """`folder`: where MEMORY.md, alerts and backups are written; without one nothing is. `embedder` and `summarise`: others than the
        built-in."""
        self.store = store
        self.project = project
        self.now = now
        self.folder = folder
        self._embedder = embedder
        self.summarise = summarise

    @property
    def embedder(self) -> Embedder:
        """The one that was given, else the best that is there: loading a model takes a moment, which most words need not wait for."""
        if self._embedder is None:
            self._embedder = vectors.best()
        return self._embedder

    @classmethod
    def of(cls, environ: Mapping[str, str], folder: str, create: bool = True) -> Memory:
        """The memory of the repository that a folder lies in, where and how the user's configuration says. Without `create`, an empty one
        stands for a file that nobody has made yet. NoHome, StoreUnavailable, NotJoined."""
        ours = home.popkit_home(environ)
        project = project_of(ours, folder)
        project.check_joined()
        command = remembered.effective(home.plugin_root(), ours, "")["memory"]["summariser"]
        reach(environ)
        return cls(
            configured_store(environ, create) or InMemoryStore(),
            project.repository.key,
            lambda: time_of_day(environ),
            Folder(ours),
            summarise=(lambda text: summarise_with(command, text)) if command else None,
        )

    # --- asking --------------------------------------------------------------------------------------------------------------------

    def list(self, tiers: Sequence[str] = (), kinds: Sequence[str] = (), marked: bool | None = False, most: int | None = 50) -> Items:
        """Items, what is worth most first; at most so many (None: all)."""
        found = sorted(self.store.scan(self.project, kinds, tiers, marked), key=lambda item: (-item.score, -item.created_at, item.id))
        return found[:most]

    def search(self, words: str, most: int = 10, everywhere: bool = False) -> Found:
        """The items that answer best, each with its relevance; they count as asked for. `everywhere`: those of all projects."""
        found = search.search(self.store, words, None if everywhere else self.project, most, self.embedder)
        self._access([item.id for item, _ in found])
        return found

    def show(self, id: str) -> Item:
        """An item by its id, or by the beginning of one that is no other's; it counts as asked for."""
        item = self.find(id)
        self._access([item.id])
        return self.store.get([item.id])[0]

    def find(self, id: str) -> Item:
        """As `show`, without counting."""
        whole = self.store.get([id])
        if whole:
            return whole[0]
        found = [item for item in self.store.scan(self.project) if item.id.startswith(id)] if id else []
        if len(found) == 1:
            return found[0]
        if found:
            raise NotThere(
                f"{len(found):,} memories begin with {id!r:.40}: {', '.join(item.id for item in found[:5])}. Give more of the id"
            )
        raise NotThere(f"there is no memory {id!r:.40}: list and search show what ids there are")

    def why(self, id: str) -> dict[str, object]:
        """What is thought of an item: see `reports.why`."""
        item = self.find(id)
        return reports.why(self.store, item, self._moment(item))

    def status(self) -> dict[str, object]:
        """What there is of the project: see `reports.status`."""
        return reports.status(self.store, self.project, self.now())

    def document(self, tokens: int = MEMORY_TOKENS, prompt: str = "") -> Document:
        """MEMORY.md of the project in at most so many tokens; for a prompt, where one is given: what sessions wrote that spoke of the same
        comes first."""
        items = list(self.store.scan(self.project))
        if not prompt:
            return document.build(items, tokens)
        episodes = {session: list(_ids(lesson.get("writes"))) for session, lesson in learning.taught(self.store, self.project).items()}
        return document.build(items, tokens, prompting.similarities(prompt, episodes, {item.id: item.text for item in items}))

    def told(self, tokens: int = MEMORY_TOKENS) -> Document:
        """As `document`, for a MEMORY.md that sessions are given: the audit notes what is left out, and why what stood there before is not
        there any more."""
        made, key = self.document(tokens), "document:" + self.project
        before = self.store.value(key)
        if before != made.items:
            reasons = dict(made.left_out)
            gone = [id for id in (before if isinstance(before, list) else ()) if id not in made.items]
            entry = audited(
                self.now(), "document", self.project, tokens=made.tokens, items=len(made.items), left_out=Counter(reasons.values()),
                gone={id: reasons.get(id, "deleted") for id in gone},
            )  # fmt: skip
            self.store.write(Batch(values={key: made.items}, log=[entry]))
        return made

    def loss(self, most: int = reports.SAMPLES) -> Losses:
        """What the levels lose, measured on the project's own longer texts, at most so many of them."""
        return reports.loss_of(self.store, self.project, self.embedder.embed, self.summarise, most)

    # --- changing ------------------------------------------------------------------------------------------------------------------

    def add(self, text: str, kind: str = NOTE, **fields: object) -> Item:
        """Keeps a new item, and returns it; secrets in its text are masked. The fields are those of an Item; an id that is not given
        comes from the text. What an agent has added and the user now says himself is accepted. BadItem for what cannot be kept, DuplicateId
        where it is there already."""
        if not isinstance(text, str):
            raise BadItem(f"a text is text, not {type(text).__name__}")
        now = self.now()
        text = mask(text)
        plain = {
            "id": id_of(self.project, kind, text), "text": text, "project": self.project, "kind": kind, "created_at": now,
            "profile": PROSE if kind not in KINDS or kind == NOTE else CODE, "source": USER,
        }  # fmt: skip
        item = from_json({**plain, **fields}, now)
        if item.source == USER and any(there.waits for there in self.store.get([item.id])):
            return self.accept([item.id])[0]
        item.last_accessed = max(item.last_accessed, item.created_at)
        item.session = item.session or learning.session_number(self.store, self.project)
        if item.profile in (PROSE, SPEC) and "uniqueness" not in fields:
            item.uniqueness = self._uniqueness(item)
        item.score = profiles.score(item, now)
        placed = transitions.entry(item.score, item.created_at == now or self._is_newest(item))
        item.tier = str(fields.get("tier") or placed.tier)
        item.tier_since, item.tier_score = now, item.score
        self.store.write(Batch(add=[item], log=[self._entry("added", item, placed.reasons)]))
        return item

    def pin(self, ids: Sequence[str]) -> Items:
        """The user keeps items where they are."""
        return self._change(ids, "pinned", lambda item: {"held": True, "was_held": True, "marked_at": None, "marked_by": ""})

    def unpin(self, ids: Sequence[str]) -> Items:
        return self._change(ids, "unpinned", lambda item: {"held": False})

    def promote(self, ids: Sequence[str]) -> Items:
        """One tier up: from COLD over WARM and HOT to ARCHIVE."""
        return self._change(ids, "promoted", lambda item: changes.moved(item, 1, self.now()))

    def demote(self, ids: Sequence[str]) -> Items:
        """One tier down; what comes out of ARCHIVE is a key decision no more."""
        return self._change(ids, "demoted", lambda item: changes.moved(item, -1, self.now()))

    def mark_key(self, ids: Sequence[str]) -> Items:
        """A key decision: the ARCHIVE tier keeps it for good. What waits for the user's yes goes there with the yes."""
        return self._change(ids, "key decision", lambda item: changes.key(item, self.now()))

    def waiting(self) -> Items:
        """What agents have added and the user has not said yes to, oldest first."""
        found = [item for item in self.store.scan(self.project, marked=False, bare=True) if item.waits]
        return sorted(found, key=lambda item: (item.created_at, item.id))

    def accept(self, ids: Sequence[str]) -> Items:
        """The user's yes to what an agent has added. BadItem for what does not wait for one."""
        return self._change(ids, "accepted", lambda item: changes.accepted(item, self.now()), _REMEMBER)

    def restore(self, ids: Sequence[str]) -> Items:
        """Back to the full text, from any level; NotThere where that is not kept."""
        return self._change(ids, "restored", self._full)

    def forget(self, ids: Sequence[str], by: str = BY_USER) -> Items:
        """Marks items; they are deleted when 24 hours have passed, and not learnt again. `by`: who wants it, the user or an agent's tool.
        OnHold where one of them is on hold."""
        now = self.now()
        return self._change(ids, "forgotten", lambda item: {"marked_at": now, "marked_by": by, "held": False}, _FORGET[by])

    def undo(self, ids: Sequence[str] = ()) -> Items:
        """Takes marks back: those of these items; without ids, those that the user made last. NotThere where there are none."""
        if not ids:
            mine = [item for item in self.store.scan(self.project, marked=True) if item.marked_by == BY_USER]
            latest = max((item.marked_at or 0.0 for item in mine), default=0.0)
            ids = [item.id for item in mine if item.marked_at == latest]
        if not ids:
            raise NotThere("nothing is marked as forgotten")
        return self._change(ids, "kept after all", lambda item: {"marked_at": None, "marked_by": ""}, _REMEMBER)

    # --- learning and keeping house ---------------------------------------------------------------------------------------------------

    def learn(self, lesson: Lesson) -> learning.Learnt:
        """Merges what a session taught. Taught again it counts as once."""
        return learning.learn(self.store, lesson, self.now())

    def run(self, force: bool = False, progress: Callable[[int], None] = lambda done: None) -> job.Report | None:
        """The job over all projects; None where the last run is less than an hour ago, unless it is forced. Busy where another runs."""
        now = self.now()
        if not force and not job.due(self.store, now):
            return None
        if self.folder is None:
            return self._run(now, progress)
        files.make_private_folder(self.folder.path)
        try:
            with files.Lock(self.folder.lock):
                return self._run(now, progress)
        except files.LockTimeout:
            raise Busy("another process runs the job of the memory. Try again when it is done") from None

    def _run(self, now: float, progress: Callable[[int], None]) -> job.Report:
        wiping.prepare(self.store, self.folder, now)
        report = job.run(self.store, now, self.embedder, self.summarise, progress)
        if self.embedder.name != vectors.HashedEmbedder.name:
            embed_items(self.store, self.embedder, most=EMBEDDED)
        if self.folder is not None:
            self._tell()
            self.folder.set_alerts(report.alerts, now)
        wiping.finish(self.store, self.folder, now)
        if self.folder is not None:
            backups.back_up(self.store, self.folder.backups, now)
        return report

    def export(self, everything: bool = False) -> Iterable[str]:
        """JSON lines of the project's items, or of those of all projects: see `exchange`."""
        return exchange.lines_of(self.store, None if everything else self.project, self.now())

    def take_in(self, lines: Iterable[str], missing: bool = False) -> int:
        """Imports JSON lines, all or nothing; how many items. `missing`: only those whose id is not there. BadItem names the line;
        DuplicateId where an id is there already."""
        return exchange.take_in(self.store, lines, self.project, self.now(), missing)

    def close(self) -> None:
        self.store.close()

    # --- how -------------------------------------------------------------------------------------------------------------------------

    def _access(self, ids: Sequence[str]) -> None:
        if ids:
            self.store.access(ids, self.now(), learning.session_number(self.store, self.project))

    def _change(self, ids: Sequence[str], action: str, to: Callable[[Item], dict[str, object]], kind: _Kind = _CHANGE) -> Items:
        """Changes all of these items, or none."""
        while True:
            items = [self.find(id) for id in dict.fromkeys(ids)]
            batch = Batch(
                change=[Change(item.id, to(item)) for item in items], log=[self._entry(action, item, (kind.reason,)) for item in items]
            )
            if kind.forgets:
                held = holds.read(self.store, self.now())
                holds.refuse(items, held)
                batch.given = held.given()
            if kind.forgets is not None:
                forgotten.note(batch, self.store, items, kind.forgets)
            holds.touch_marks(batch)
            try:
                self.store.write(batch)
            except Outdated:  # somebody has just put something on hold
                continue
            if holds.MARKS_KEY in batch.values:
                self._tell()
            return self.store.get([item.id for item in items])

    def _tell(self) -> None:
        """Lets hooks know what others than the user have marked."""
        if self.folder is not None:
            self.folder.set_marks(self.store)

    def _full(self, item: Item) -> dict[str, object]:
        if item.level == FULL:
            return {}
        text = self.store.original(item.id)
        if text is None:
            raise NotThere(f"the full text of {item.id} is not there any more")
        return {"level": FULL, "text": text}

    def _moment(self, item: Item) -> Moment:
        return Moment(self.now(), learning.session_number(self.store, item.project), self._is_newest(item))

    def _is_newest(self, item: Item) -> bool:
        later = 0
        for other in self.store.scan(item.project):
            later += (other.created_at, other.id) > (item.created_at, item.id)
            if later >= transitions.NEWEST:
                return False
        return True

    def _uniqueness(self, item: Item) -> float:
        """How little it is like what is nearest to it, by the specification's signal."""
        near = self.store.candidates(terms_of(item.text)[:64], self.project, 20).items
        texts = [other.text for other in near if other.text and other.id != item.id]
        mine, *others = self.embedder.embed([item.text, *texts])
        return profiles.SIGNALS.calculate_uniqueness(mine, [mine, *others])

    def _entry(self, action: str, item: Item, reasons: Sequence[str]) -> dict[str, object]:
        return audited(self.now(), action, item.project, item.id, reasons=list(reasons))


def _ids(writes: object) -> Iterable[str]:
    return writes if isinstance(writes, dict) else ()
