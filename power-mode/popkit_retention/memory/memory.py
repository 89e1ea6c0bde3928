"""Memory of one project over a store: the one interface to it."""

from __future__ import annotations

import time
import weakref
from collections import Counter
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from popkit_retention.core.config.cached import effective
from popkit_retention.core.errors import PopkitError
from popkit_retention.core.hosts import protocol
from popkit_retention.core.hosts.own_memory import OwnMemory
from popkit_retention.core.io import files, home
from popkit_retention.core.io.system import now as time_of_day
from popkit_retention.core.policy.masking import mask
from popkit_retention.core.policy.ruleset import MEMORY_TOKENS
from popkit_retention.core.state import memory_checks
from popkit_retention.core.state.memory import project_of
from popkit_retention.core.state.memory_records import Verdict

from ..extras import reach
from . import (
    document,
    embedding_items,
    embeddings,
    erasure,
    exchange,
    holds,
    information_loss,
    job,
    learning,
    published_marks,
    reinforcement,
    reports,
    search,
    stored_lessons,
    transitions,
    valuation,
)
from .bounds import DEFAULT, UNBOUNDED
from .filters import SCOPES, matches, where_of
from .folder import Folder
from .hourly_job import HourlyJob, for_thread
from .items import ACCEPTED, BY_TOOL, BY_USER, CODE, FULL, KINDS, NOTE, PROSE, SPEC, USER, BadItem, Item, from_json, id_of
from .stores.opening import configured_store, empty_store
from .stores.protocol import Batch, Change, DuplicateId, Outdated, Store, audited, listed
from .stores.shared import can_be_listed
from .summariser import summarise_with
from .terms import terms_of
from .tier_policies import policies_of
from .transitions import Moment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .bounds import Bounds
    from .document import Document
    from .embeddings import Embedder, Embedding
    from .filters import Condition
    from .information_loss import Loss
    from .lessons import Lesson
    from .tier_policies import Policy
    from .vectors.index import VectorIndex
    from .vectors.protocol import VectorStore

    # `Memory.list` is a word of its users.
    Items = list[Item]
    Found = list[tuple[Item, float]]
    Losses = list[Loss]
    Entries = list[dict[str, object]]
    Filter = Mapping[str, object]

# The most items that get a model's embeddings in one run of the job; the others follow.
EMBEDDED = 2_000


class ItemNotFound(PopkitError, LookupError):
    """No item has that id, or several could be meant; the message says which, and how to find one."""


class JobRunning(PopkitError, RuntimeError):
    """Another process runs the job."""


class _Kind(NamedTuple):
    """A kind of change: its reason, and whether the items must not be learnt again (True), or may be (False)."""

    reason: str
    forgets: bool | None = None


# What `update` changes beside the text.
_UPDATED = frozenset(("kind", "profile", "confidence", "speaker", "episode", "place", "metadata", "expires_at", *SCOPES))
_CHANGE = _Kind("you asked for it")
_REMEMBER = _Kind("you asked for it", False)
_FORGET = {BY_USER: _Kind("you asked for it", True), BY_TOOL: _Kind("an agent's tool asked for it", True)}


class Memory:
    """The memory of one project over a store: lists, searches and MEMORY.md are this project's; the job is for all. `now` returns the time
    (seconds). Every change is logged with its reasons. StoreUnavailable where the store cannot be used."""

    def __init__(
        self,
        store: Store,
        project: str = "",
        now: Callable[[], float] = time.time,
        folder: Folder | None = None,
        embedder: Embedding | None = None,
        summarise: Callable[[str], str] | None = None,
        session: str = "",
        job: str = "",
        root: str | None = None,
        theirs: OwnMemory | None = None,
        bounds: Bounds = DEFAULT,
        vectors: VectorStore | None = None,
        policies: Mapping[str, Policy] | None = None,
    ) -> None:
        """Open a memory over a store. `folder`: where MEMORY.md, alerts and backups are written; without one, none are. `embedder` and
        `summarise` replace the built-in ones; an embedder may be a function of texts to vectors (`FunctionEmbedder` gives it a name).
        `vectors`: where its vectors are kept, searched and deleted; items then keep none of it. An item is written first: if its vector
        cannot be, the error is raised, and the next run makes up for it. `session`: the id of the session that uses it, which reinforces
        an item at most once. `job`: "hourly" runs the job on a thread of its own until the memory is closed. `root`: the checkout against
        which items are checked, "" where it no longer exists, None for a memory without one. `theirs`: what the host itself remembers,
        which MEMORY.md does not repeat. `bounds`: how much the job leaves of each project. `policies`: what
        differs from the specification's policies of the tiers, such as `{"hot": {"max_age_hours": 48}}`. Raise ValueError for any other
        job or a bound below 0, BadEmbedding for what is no embedder, BadTierPolicy for a policy that cannot be in force."""
        if any(bound is not None and not bound >= 0 for bound in bounds):
            raise ValueError(f"{bounds}: a bound is a number from 0 on, or None")
        self.store = store
        self.bounds = bounds
        self.policies = policies_of(policies)
        self.project = project
        self.now = now
        self.folder = folder
        given = None if embedder is None else embeddings.embedder_of(embedder)
        # Beside a store of vectors, what items need of an embedding is what hashing tells: no model is asked for their neighbours.
        self._embedder = given if vectors is None else embeddings.HashedEmbedder()
        self._index: VectorIndex | None = None
        if vectors is not None:
            from .vectors.index import VectorIndex  # only here: hooks' child processes start with none

            self._index = VectorIndex(vectors, lambda: given or embedding_items.best())
        self.summarise = summarise
        self.session = session
        if job not in ("", "hourly"):
            raise ValueError(f'job is {job!r:.40}: it may be "hourly", or "" for none')
        self.hourly: HourlyJob | None = None
        if job:
            self.hourly = HourlyJob(
                lambda: Memory(for_thread(store), project, now, folder, given, summarise, bounds=bounds, vectors=vectors, policies=policies)
            )
            weakref.finalize(self, self.hourly.over.set)
        self.root = root
        self.theirs = theirs or OwnMemory("")
        self.scope: dict[str, str] = {}

    def scoped(self, user_id: str = "", agent_id: str = "", session_id: str = "") -> Memory:
        """Return this memory for one user, agent or session, or for several of these together: it adds for them, and shows and changes what
        is theirs alone. `status`, `run` and `learn` stay those of the project, and nothing is imported into a scope. It shares the store;
        close the memory that has opened it. Raise BadItem without any of them, or for another one than this memory is for."""
        scope = {name: value for name, value in zip(SCOPES, (user_id, agent_id, session_id)) if value}
        if not scope:
            raise BadItem(f"a scope needs a value for one of {', '.join(SCOPES)}")
        for name, value in scope.items():
            if self.scope.get(name, value) != value:
                raise BadItem(f"{name} is {self.scope[name]!r:.40} in this memory, not {value!r:.40}")
        narrow = copy(self)
        narrow.hourly = None
        narrow.scope = {**self.scope, **scope}
        return narrow

    def _where(self, filter: Filter | None = None) -> tuple[Condition, ...]:
        """Return the conditions of a filter, and those of the scope."""
        return (*where_of(self.scope), *where_of(filter))

    def _scan(
        self, kinds: Sequence[str] = (), tiers: Sequence[str] = (), marked: bool | None = None, filter: Filter | None = None
    ) -> Items:
        """Return the items of the project and the scope that have not expired."""
        now = self.now()
        return [
            item for item in self.store.scan(self.project, kinds, tiers, marked, where=self._where(filter)) if not item.has_expired(now)
        ]

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    @property
    def embedder(self) -> Embedder:
        """Return the embedder that was passed, else the best there is: loading a model takes a moment, which most commands need not wait
        for."""
        if self._embedder is None:
            self._embedder = embedding_items.best()
        return self._embedder

    @classmethod
    def of(cls, environ: Mapping[str, str], folder: str, create: bool = True) -> Memory:
        """Open the memory of the repository that contains a folder, as the user has configured it. Without `create`, open an empty memory
        where the file does not exist yet. Raise NoHome, StoreUnavailable and CheckoutNotJoined."""
        ours = home.popkit_home(environ)
        project = project_of(ours, folder)
        project.check_joined()
        configured = effective(home.plugin_root(), ours, "")["memory"]
        command = configured["summariser"]
        reach(environ)
        return cls(
            configured_store(environ, create) or empty_store(),
            project.repository.key,
            lambda: time_of_day(environ),
            Folder(ours),
            summarise=(lambda text: summarise_with(command, text)) if command else None,
            session=environ.get("CLAUDE_CODE_SESSION_ID", ""),
            root=project.repository.root,
            theirs=protocol.of("").own_memory(environ, project.repository.root),
            bounds=UNBOUNDED,  # a person's memory has retention policies
            policies=configured["tiers"],
        )

    def list(
        self,
        tiers: Sequence[str] = (),
        kinds: Sequence[str] = (),
        marked: bool | None = False,
        most: int | None = 50,
        where: Filter | None = None,
    ) -> Items:
        """Return at most this many items (None: all), the most valuable first. `where`: a filter, see `filters`; BadFilter for a wrong
        one."""
        items = sorted(self._scan(kinds, tiers, marked, where), key=lambda item: (-item.score, -item.created_at, item.id))
        return items[:most]

    def search(self, words: str, most: int = 10, everywhere: bool = False, where: Filter | None = None, mode: str = search.BOTH) -> Found:
        """Return the items that answer best, each with its relevance, and count an access of each: whether it was of use shows later.
        `everywhere`: search all projects; `where`: a filter, see `filters`; BadFilter for a wrong one. `mode`: by the "words", by "vector",
        or by "both"; ValueError for any other. By vector without a store of vectors, items that have no embedding yet get one first."""
        if mode not in search.MODES:
            raise ValueError(f"mode is {mode!r:.40}: it may be {', '.join(search.MODES)}")
        project = None if everywhere else self.project
        embedder = self.embedder if self._index is None and mode != search.WORDS else None
        if mode == search.VECTOR and embedder is not None and embedder.name != embeddings.HashedEmbedder.name:
            embedding_items.embed_items(self.store, embedder, project)
        results = search.search(self.store, words, project, most, embedder, self._where(where), self.now(), mode, self._index)
        self._access([item.id for item, _ in results])
        return results

    def show(self, id: str) -> Item:
        """Return an item by its id, or by the beginning of only one id; count an access, and a use."""
        item = self.find(id)
        self._access([item.id])
        return self.reinforce([item.id])[0]

    def find(self, id: str) -> Item:
        """Return an item as `show` does, without counting an access."""
        where = self._where()
        whole = [item for item in self.store.get([id]) if matches(item, where)]
        if whole:
            return whole[0]
        named = [item for item in self.store.scan(self.project, where=where) if item.id.startswith(id)] if id else []
        if len(named) == 1:
            return named[0]
        if named:
            raise ItemNotFound(
                f"{len(named):,} memories begin with {id!r:.40}: {', '.join(item.id for item in named[:5])}. Give more of the id"
            )
        shown_by = "list()" if self.folder is None else "popkit memory list"
        raise ItemNotFound(f"there is no memory {id!r:.40}. {shown_by} shows the ids")

    def _named(self, ids: Sequence[str]) -> Items:
        """Return the items with these ids; a text is one."""
        return [self.find(id) for id in dict.fromkeys([ids] if isinstance(ids, str) else ids)]

    def why(self, id: str) -> dict[str, object]:
        """Explain an item: see `reports.why`."""
        item = self.find(id)
        return {**reports.why(self.store, item, self._moment(item)), "learnt_at": self._learnt_at(item)}

    def _learnt_at(self, item: Item) -> dict[str, object]:
        """Return the `commit` that an item was learnt at, and of each of its `files` the `file`, its present `state` (SAME, CHANGED,
        RENAMED or GONE; "" where no checkout is at hand) and its `path`."""
        facts = document.facts_of(item)
        verdicts = memory_checks.check(self.root, facts) if self.root else {}
        rows = [(fact, verdicts.get(fact, Verdict("", fact.file))) for fact in facts]
        return {
            "commit": str(item.details.get("commit") or ""),
            "files": [{"file": fact.file, "state": verdict.state, "path": verdict.path} for fact, verdict in rows],
        }

    def status(self) -> dict[str, object]:
        """Return the status of the project's memory: see `reports.status`."""
        return reports.status(self.store, self.project, self.now())

    def document(self, tokens: int = MEMORY_TOKENS, prompt: str = "", where: Filter | None = None) -> Document:
        """Return MEMORY.md of the project in at most this many tokens. With a prompt, items of sessions about the same subject come
        first. `where`: a filter, see `filters`. Of a large project, see `Store.shortlist`, only items that many sessions or the latest ones
        used are considered."""
        now, conditions = self.now(), self._where(where)
        shortlist = self.store.shortlist(self.project, now, conditions)
        items = {item.id: self._in_own_words(item) for item in shortlist.items if not item.has_expired(now)}
        similar: dict[str, float] = {}
        if prompt:
            episodes = {session: list(lesson.writes) for session, lesson in stored_lessons.read_lessons(self.store, self.project).items()}
            if shortlist.is_partial:  # an item of a similar session may be none that many or the latest sessions used
                others = self.store.get([id for id in dict.fromkeys(chain(*episodes.values())) if id not in items])
                items.update(
                    (item.id, self._in_own_words(item)) for item in others if can_be_listed(item, now) and matches(item, conditions)
                )
            similar = search.similarities(prompt, episodes, {id: item.text for id, item in items.items()})
        facts = [fact for item in items.values() for fact in document.facts_of(item)]
        verdicts = None if self.root is None else memory_checks.check(self.root, facts)
        built = document.build(items.values(), tokens, similar, verdicts, self.theirs.contains)
        return replace(built, is_partial=shortlist.is_partial)

    def audited_document(self, tokens: int = MEMORY_TOKENS) -> Document:
        """Return the MEMORY.md that sessions receive: `document`, with an audit entry of what is left out, and of why items of the previous
        one are no longer in it."""
        document, key = self.document(tokens), "document:" + self.project
        before = self.store.value(key)
        if before != document.items:
            reasons = dict(document.left_out)
            removed = [id for id in listed(before) if id not in document.items]
            entry = audited(
                self.now(), "document", self.project, tokens=document.tokens, items=len(document.items), left_out=Counter(reasons.values()),
                gone={id: reasons.get(id, "deleted") for id in removed},
            )  # fmt: skip
            self.store.write(Batch(values={key: document.items}, log=[entry]))
        return document

    def loss(self, most: int = information_loss.SAMPLES) -> Losses:
        """Return what the levels lose, measured on at most this many of the project's own longer texts."""
        return information_loss.loss_of(self.store, self.project, self.embedder.embed, self.summarise, most)

    def reinforce(self, ids: Sequence[str]) -> Items:
        """Reinforce items that were of use, as an agent that acted on them does: each at most once a session. Return them."""
        items = self._named(ids)
        reinforcement.reinforce(self.store, items, self.session, self.now())
        return self.store.get([item.id for item in items])

    def add(self, text: str, kind: str = NOTE, **fields: object) -> Item:
        """Add a new item and return it; secrets in its text are masked. The fields are those of an Item, such as `user_id`, `metadata` or
        `expires_at`; a missing id is made from the text and the scope. An item that an agent has added and the user now adds is accepted.
        Raise BadItem for an item that cannot be kept, DuplicateId where it is in the store already."""
        if not isinstance(text, str):
            raise BadItem(f"the text must be a string, not {type(text).__name__}")
        now = self.now()
        text = mask(text)
        fields = {**self._scope_of(fields), **fields}
        scopes = [str(fields.get(name) or "") for name in SCOPES]
        plain = {
            "id": id_of(self.project, kind, "\0".join([text, *scopes] if any(scopes) else [text])),
            "text": text, "project": self.project, "kind": kind, "created_at": now,
            "profile": PROSE if kind not in KINDS or kind == NOTE else CODE, "source": USER,
        }  # fmt: skip
        item = from_json({**plain, **fields}, now)
        if item.source == USER and any(there.waits for there in self.store.get([item.id])):
            return self.accept([item.id])[0]
        item.last_accessed = max(item.last_accessed, item.created_at)
        item.session = item.session or stored_lessons.session_number(self.store, self.project)
        if item.profile in (PROSE, SPEC) and "uniqueness" not in fields:
            item.uniqueness = self._uniqueness(item)
        item.score = valuation.score(item, now)
        placed = transitions.entry(item.score, item.created_at == now or self._is_newest(item), self.policies)
        item.tier = str(fields.get("tier") or placed.tier)
        item.tier_since, item.tier_score = now, item.score
        self.store.write(Batch(add=[item], log=[self._entry("added", item, placed.reasons)]))
        self._refresh([item.id])
        return item

    def _scope_of(self, fields: Mapping[str, object]) -> dict[str, str]:
        """Return the scope that a new item gets. Raise BadItem where its fields name another one."""
        for name, value in self.scope.items():
            if fields.get(name, value) != value:
                raise BadItem(f"{name} is {value!r:.40} in this memory, not {fields[name]!r:.40}")
        return self.scope

    def update(self, id: str, text: str | None = None, **fields: object) -> Item:
        """Change an item's text or fields (`kind`, `metadata`, `expires_at`, `confidence`, `user_id` …) and return it; what they were stays
        in its history. Secrets in a text are masked. Raise ItemNotFound, ItemOnHold for the text of an item that a hold keeps, and BadItem
        for a value that cannot be kept."""
        item = self.find(id)
        to: dict[str, object] = {**fields}
        self._scope_of({name: value for name, value in to.items() if name in self.scope})
        wrong = sorted(set(to) - _UPDATED)
        if wrong:
            raise BadItem(f"{wrong[0]!r:.60} cannot be updated. Known: text, {', '.join(sorted(_UPDATED))}")
        batch = Batch()
        if text is not None:
            if not isinstance(text, str):
                raise BadItem(f"the text must be a string, not {type(text).__name__}")
            to |= {"text": mask(text), "level": FULL, "embedding": None}
            held = holds.read(self.store, self.now())
            if to["text"] != item.text:
                holds.refuse([item], held)
            batch.expected = held.expected()
            if item.original:
                batch.originals = {item.id: str(to["text"])}
        before = {name: getattr(item, name) for name in to if name not in ("level", "embedding") and getattr(item, name) != to[name]}
        if not before:
            self._refresh([item.id])
            return item
        after = {name: to[name] for name in before}
        batch.change = [Change(item.id, to)]
        batch.log = [audited(self.now(), "updated", item.project, item.id, reasons=[_CHANGE.reason], before=before, after=after)]
        try:
            self.store.write(batch)
        except Outdated:  # somebody has just put something on hold
            return self.update(id, text, **fields)
        self._refresh([item.id])
        return self.find(item.id)

    def upsert(self, id: str, text: str, **fields: object) -> Item:
        """Add an item of this id, or update the one that there is, which is then neither forgotten nor expired; return it. Raise
        DuplicateId where the id is that of an item outside of the scope."""
        try:
            return self.add(text, id=id, **fields)  # type: ignore[arg-type]
        except DuplicateId:
            there = [item for item in self.store.get([id]) if matches(item, self._where())]
            if not there:
                raise DuplicateId(f"{id!r:.40} is taken outside of this scope. Use ids that are unique in the store") from None
        if there[0].mark:
            self.undo([id])
        if there[0].has_expired(self.now()):
            fields = {"expires_at": None, **fields}
        return self.update(id, text, **fields)

    def history(self, id: str, most: int = 100) -> Entries:
        """Return what was done with an item, newest first: its audit entries, updates with the values `before` and `after`."""
        return self.store.logged(self.find(id).id, most)

    def pin(self, ids: Sequence[str]) -> Items:
        """Pin items: the user keeps them where they are."""
        return self._change(ids, "pinned", lambda item: {"held": True, "was_held": True, "marked_at": None, "marked_by": ""})

    def unpin(self, ids: Sequence[str]) -> Items:
        return self._change(ids, "unpinned", lambda item: {"held": False})

    def promote(self, ids: Sequence[str]) -> Items:
        """Move items one tier up: from COLD by way of WARM and HOT to ARCHIVE."""
        return self._change(ids, "promoted", lambda item: transitions.moved(item, 1, self.now()))

    def demote(self, ids: Sequence[str]) -> Items:
        """Move items one tier down; an item that leaves ARCHIVE is no longer a key decision."""
        return self._change(ids, "demoted", lambda item: transitions.moved(item, -1, self.now()))

    def mark_key(self, ids: Sequence[str]) -> Items:
        """Make items key decisions, which the ARCHIVE tier keeps for good. An item that waits for the user goes there when it is
        accepted."""
        return self._change(ids, "key decision", lambda item: transitions.as_key(item, self.now()))

    def waiting(self) -> Items:
        """Return the items that agents have added and the user has not accepted, oldest first."""
        items = [item for item in self.store.scan(self.project, marked=False, bare=True, where=self._where()) if item.waits]
        return sorted(items, key=lambda item: (item.created_at, item.id))

    def accept(self, ids: Sequence[str]) -> Items:
        """Accept items that an agent has added. Raise BadItem for one that is not waiting for it."""
        return self._change(ids, "accepted", lambda item: transitions.accepted(item, self.now()), _REMEMBER)

    def restore(self, ids: Sequence[str]) -> Items:
        """Restore the full text of items, from any level; this counts as a use of them. Raise ItemNotFound where it is not kept."""
        restored = self._change(ids, "restored", self._full)
        return self.reinforce([item.id for item in restored])

    def forget(self, ids: Sequence[str], by: str = BY_USER) -> Items:
        """Mark items for deletion; they are deleted after 24 hours, and not learnt again. `by`: who wants it, the user or an agent's tool.
        Raise ItemOnHold where one of them is on hold."""
        now = self.now()
        return self._change(ids, "forgotten", lambda item: {"marked_at": now, "marked_by": by, "held": False}, _FORGET[by])

    def undo(self, ids: Sequence[str] = ()) -> Items:
        """Take marks back: those of these items; without ids, those that the user made last. Raise ItemNotFound where there are none."""
        if not ids:
            mine = [item for item in self.store.scan(self.project, marked=True, where=self._where()) if item.marked_by == BY_USER]
            latest = max((item.marked_at or 0.0 for item in mine), default=0.0)
            ids = [item.id for item in mine if item.marked_at == latest]
        if not ids:
            raise ItemNotFound("nothing is marked as forgotten")
        return self._change(ids, "kept after all", lambda item: {"marked_at": None, "marked_by": ""}, _REMEMBER)

    def learn(self, lesson: Lesson) -> learning.LearningResult:
        """Merge the lesson of a session. A lesson that is learnt twice counts once."""
        learnt = learning.learn(self.store, lesson, self.now(), self.policies)
        self._sync()
        return learnt

    def run(self, force: bool = False, progress: Callable[[int], None] = lambda done: None) -> job.Report | None:
        """Run the job over all projects; return None where the last run is less than an hour ago, unless it is forced. Raise JobRunning
        where another process runs it."""
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
            raise JobRunning("another process is running memory's job. Try again when it has finished") from None

    def _run(self, now: float, progress: Callable[[int], None]) -> job.Report:
        erasure.prepare_erasure(self.store, self.folder, now)
        report = job.run(self.store, now, self.embedder, self.summarise, progress, self.bounds, self.policies)
        if self._index is None and self.embedder.name != embeddings.HashedEmbedder.name:
            embedding_items.embed_items(self.store, self.embedder, most=EMBEDDED)
        self._sync()
        if self.folder is not None:
            self._publish_marks()
            self.folder.set_alerts(report.alerts, now)
        erasure.finish_erasure(self.store, self.folder, now)
        if self.folder is not None:
            exchange.back_up(self.store, self.folder.backups, now)
        return report

    def export(self, everything: bool = False) -> Iterable[str]:
        """Return JSON lines of the project's items, or of those of all projects: see `exchange`."""
        return exchange.lines_of(self.store, None if everything else self.project, self.now(), where=self._where())

    def import_lines(self, lines: Iterable[str], missing: bool = False, here: bool = False) -> int:
        """Import JSON lines, all or nothing; return how many items. `missing`: only those whose id is not in the store. `here`: into
        this project. Raise BadItem, which names the line, and DuplicateId where an id is already in the store."""
        if self.scope:
            raise BadItem(
                f"an import may hold items of any user: import into the memory itself, not into a scope of it ({', '.join(self.scope)})"
            )
        imported = exchange.import_lines(self.store, lines, self.project, self.now(), missing, here)
        self._sync()
        return imported

    def close(self) -> None:
        """End the hourly job, and release the stores."""
        if self.hourly is not None:
            self.hourly.close()
        self.store.close()
        if self._index is not None:
            self._index.vectors.close()

    def _refresh(self, ids: Sequence[str]) -> None:
        if self._index is not None:
            self._index.refresh(self.store, ids, self.now())

    def _sync(self) -> None:
        if self._index is not None:
            self._index.sync(self.store, self.now())

    def _access(self, ids: Sequence[str]) -> None:
        if ids:
            self.store.access(ids, self.now(), stored_lessons.session_number(self.store, self.project))

    def _change(self, ids: Sequence[str], action: str, to: Callable[[Item], dict[str, object]], kind: _Kind = _CHANGE) -> Items:
        """Change all of these items, or none."""
        while True:
            items = self._named(ids)
            batch = Batch(
                change=[Change(item.id, to(item)) for item in items], log=[self._entry(action, item, (kind.reason,)) for item in items]
            )
            if kind.forgets:
                held = holds.read(self.store, self.now())
                holds.refuse(items, held)
                batch.expected = held.expected()
            if kind.forgets is not None:
                erasure.note_forgotten(batch, self.store, items, kind.forgets)
            holds.touch_marks(batch)
            try:
                self.store.write(batch)
            except Outdated:  # somebody has just put something on hold
                continue
            if holds.MARKS_KEY in batch.values:
                self._publish_marks()
            self._refresh([item.id for item in items])
            return self.store.get([item.id for item in items])

    def _publish_marks(self) -> None:
        """Write for hooks the items that somebody other than the user has marked."""
        if self.folder is not None:
            published_marks.publish_marks(self.folder.home, self.store)

    def _in_own_words(self, item: Item) -> Item:
        """Return an item with its full text where the words are the user's own: as keywords, "never push" may read as its opposite."""
        original = self.store.original(item.id) if item.level != FULL and item.source in (USER, ACCEPTED) else None
        return item if original is None else replace(item, text=original, level=FULL)

    def _full(self, item: Item) -> dict[str, object]:
        if item.level == FULL:
            return {}
        text = self.store.original(item.id)
        if text is None:
            raise ItemNotFound(f"the full text of {item.id} is no longer stored")
        return {"level": FULL, "text": text}

    def _moment(self, item: Item) -> Moment:
        return Moment(self.now(), stored_lessons.session_number(self.store, item.project), self._is_newest(item), self.policies)

    def _is_newest(self, item: Item) -> bool:
        later = 0
        for other in self.store.scan(item.project):
            later += (other.created_at, other.id) > (item.created_at, item.id)
            if later >= self.policies.hot_newest:
                return False
        return True

    def _uniqueness(self, item: Item) -> float:
        """Return how little an item is like its nearest neighbours, by the specification's signal."""
        near = self.store.candidates(terms_of(item.text)[:64], self.project, 20).items
        texts = [other.text for other in near if other.text and other.id != item.id]
        mine, *others = self.embedder.embed([item.text, *texts])
        return valuation.SIGNALS.calculate_uniqueness(mine, [mine, *others])

    def _entry(self, action: str, item: Item, reasons: Sequence[str]) -> dict[str, object]:
        return audited(self.now(), action, item.project, item.id, reasons=list(reasons))
