"""The domain `memory`: items of the long-term memory, in whatever store the user has configured.

Its marks are those that a retention policy made (`marked_by` is BY_POLICY); items that the user, a tool or memory's own job wants forgotten
are memory's own business. A store that does not exist yet is an empty domain; only a hold or a restored archive creates one.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

from popkit_retention.core.io import home
from popkit_retention.core.policy.masking import mask
from popkit_retention.core.retention_kit import sweep
from popkit_retention.core.retention_kit.holds import Hold, find_in_force
from popkit_retention.core.retention_kit.marks import Mark

from ...extras import reach
from ...memory import erasure, exchange, holds, published_marks
from ...memory.folder import Folder
from ...memory.items import ARCHIVE, BY_POLICY, BadItem
from ...memory.learning import Origins
from ...memory.stores.opening import configured_store, empty_store
from ...memory.stores.protocol import Batch, Change, DuplicateId, Outdated, StoreUnavailable, audited
from ...memory.stores.shared import in_batches
from ..errors import DomainUnavailable
from ..policies import MEMORY
from . import USER, Content, Description
from .memory_resources import about, as_bytes, label, read_back, source_type, stage_of
from .rules import ON_HOLD, PINNED, Resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from ...memory.holds import Holds
    from ...memory.items import Item
    from ...memory.stores.protocol import Store


_AT_ONCE = 500  # items that are held in memory
_MOST_MATCHES = 5  # the most ids that a word can mean


class MemoryDomain:
    """See `Domain`. `now` returns the time (seconds); `store`: another one than the user has configured. The caller ensures that only one
    process governs at a time; others may use the memory meanwhile."""

    name = MEMORY

    def __init__(self, environ: Mapping[str, str], now: Callable[[], float], store: Store | None = None) -> None:
        self._environ = environ
        self._now = now
        self._opened = store

    def resources(
        self, now: float, project: str | None = None, ids: Sequence[str] | None = None, without: Collection[str] = ()
    ) -> Iterator[Resource]:
        with self._using() as store:
            held, origins = holds.read(store, now), Origins(store)
            for item in store.scan(project, bare=True) if ids is None else self._some(store, ids, project):
                if item.project in without:
                    continue
                sessions, written_at = origins.of(item)
                vetoes = (ON_HOLD,) * (held.on(item) is not None) + (PINNED,) * _is_kept(item)
                yield Resource(item.id, written_at, source_type(item.kind), sessions, None, vetoes)

    def matching_ids(self, word: str, project: str | None = None) -> list[str]:
        with self._using() as store:
            if [item for item in store.get([word]) if project in (None, item.project)]:
                return [word]
            matches: list[str] = []
            for item in store.scan(project, bare=True) if word else ():
                if item.id.startswith(word):
                    matches.append(item.id)
                    if len(matches) == _MOST_MATCHES:
                        break
            return matches

    def describe(self, ids: Sequence[str]) -> dict[str, Description]:
        now = self._now()
        with self._using() as store:
            descriptions = {}
            for item in self._some(store, ids):
                full = store.original(item.id) if item.original else None
                size = len(item.text.encode("utf-8", "surrogatepass")) + len((full or "").encode("utf-8", "surrogatepass"))
                descriptions[item.id] = Description(item.id, mask(label(item)), item.project, item.episode, size, stage_of(item, now))
            return descriptions

    def placeholders(self, ids: Sequence[str]) -> dict[str, list[str]]:  # noqa: ARG002  as of the protocol
        """Return {}: no placeholder leads to an item of the memory."""
        return {}

    def holds(self) -> list[Hold]:
        with self._using() as store:
            return [_hold_of(entry) for entry in holds.entries(store.value(holds.KEY))]

    def add_hold(self, hold: Hold) -> None:
        def add(before: list[Mapping[str, object]]) -> list[Mapping[str, object]]:
            return before if any(stored.get("id") == hold.id for stored in before) else [*before, hold.to_json()]

        self._change_holds(add, create=True)

    def release_hold(self, id: str, at: float) -> bool:
        released = False

        def release(before: list[Mapping[str, object]]) -> list[Mapping[str, object]]:
            nonlocal released
            released = find_in_force(map(Hold.of, before), id, at) is not None
            return [{**stored, "released_at": at} if released and stored.get("id") == id else stored for stored in before]

        self._change_holds(release)
        return released

    def _change_holds(self, change: Callable[[list[Mapping[str, object]]], list[Mapping[str, object]]], create: bool = False) -> None:
        with self._using(create) as store:
            before = store.value(holds.KEY)
            after = change(holds.entries(before))
            if after != holds.entries(before):
                store.write(Batch(expected={holds.KEY: before}, values={holds.KEY: after}))

    def marked(self) -> dict[str, Mark]:
        with self._using() as store:
            actors = published_marks.actors(store)
            return {
                item.id: Mark(item.id, item.mark.at, str(actors.get(item.id, USER)))
                for item in store.scan(marked=True, bare=True)
                if item.mark and item.marked_by == BY_POLICY
            }

    def mark(self, ids: Sequence[str], at: float, by: str) -> list[str]:
        def decide(store: Store, held: Holds) -> tuple[Batch, list[str]]:
            free = [item for item in self._some(store, ids) if _next_step(item, at, held) == sweep.MARK]
            going = [item.id for item in free]
            return Batch(
                change=[Change(id, {"marked_at": at, "marked_by": BY_POLICY}) for id in going],
                values={published_marks.ACTORS_KEY: {**published_marks.actors(store), **dict.fromkeys(going, by)}},
                log=[audited(at, "marked", item.project, item.id, reasons=["its retention policy releases it"]) for item in free],
            ), going

        return self._write(decide)

    def unmark(self, ids: Sequence[str]) -> list[str]:
        def decide(store: Store, _: Holds) -> tuple[Batch, list[str]]:
            mine = [item for item in self._some(store, ids) if item.marked_by == BY_POLICY]
            back = [item.id for item in mine]
            return Batch(
                change=[Change(id, {"marked_at": None, "marked_by": ""}) for id in back],
                values=_without(store, back),
                log=[audited(self._now(), "kept after all", item.project, item.id, reasons=["its mark was taken back"]) for item in mine],
            ), back

        return self._write(decide)

    def delete(self, ids: Sequence[str], now: float) -> list[str]:
        def decide(store: Store, held: Holds) -> tuple[Batch, list[str]]:
            mine = [item for item in self._some(store, ids) if item.marked_by == BY_POLICY and not held.on(item)]
            going = [item.id for item in mine]
            return Batch(
                remove=going,
                values=_without(store, going),
                log=[audited(now, "deleted", item.project, item.id, reasons=["its retention policy released it"]) for item in mine],
            ), going

        with self._using() as store:
            _, going = decide(store, holds.read(store, now))
            # First the copies: a kill in between leaves a marked item, which the next collection finds.
            exchange.erase_from_backups(Folder(home.popkit_home(self._environ)).backups, set(going))
        return self._write(decide)

    def _write(self, decide: Callable[[Store, Holds], tuple[Batch, list[str]]]) -> list[str]:
        """Write the batch that a decision makes, under the holds that it was based on; return the ids that it is about."""
        while True:
            with self._using() as store:
                held = holds.read(store, self._now())
                batch, changed = decide(store, held)
                try:
                    if changed:
                        holds.touch_marks(batch)
                        store.write(replace(batch, expected=held.expected()))
                except Outdated:
                    continue
                return changed

    def contents(self, ids: Sequence[str]) -> Iterator[Content]:
        with self._using() as store:
            for item in self._some(store, ids):
                yield Content(item.id, as_bytes(item, store.original(item.id) if item.original else None), about(item))

    def put_back(self, contents: Iterable[Content], now: float) -> list[str]:
        added: list[str] = []
        waiting: list[Content] = []
        for content in contents:
            waiting.append(content)
            if len(waiting) == _AT_ONCE:
                added += self._put_back(waiting, now)
                waiting = []
        return added + (self._put_back(waiting, now) if waiting else [])

    def _put_back(self, contents: Sequence[Content], now: float) -> list[str]:
        with self._using(create=True) as store:
            try:
                return self._add(store, contents, now)
            except DuplicateId:  # a session has just taught one of them
                return self._add(store, contents, now)

    def _add(self, store: Store, contents: Sequence[Content], now: float) -> list[str]:
        stored = {item.id for item in store.get([content.id for content in contents])}
        batch = Batch()
        for content in contents:
            if content.id in stored:
                continue
            item, full = read_back(content, now)
            batch.add.append(item)
            stored.add(item.id)
            if full is not None:
                batch.originals[item.id] = full
            batch.log.append(audited(now, "restored", item.project, item.id, reasons=["it was restored from an archive"]))
        unwanted = {project: erasure.forgotten_ids(store, project) for project in {item.project for item in batch.add}}
        again = [item for item in batch.add if item.id in unwanted[item.project]]
        erasure.note_forgotten(batch, store, again, forgotten=False)
        store.write(batch)
        return [item.id for item in batch.add]

    def compact(self) -> bool:
        with self._using() as store:
            return store.compact()

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @contextmanager
    def _using(self, create: bool = False) -> Iterator[Store]:
        """Open the store, an empty one where there is none; DomainUnavailable where it cannot be used."""
        try:
            if self._opened is None:
                reach(self._environ)
                self._opened = configured_store(self._environ, create)
            yield self._opened or empty_store()
        except (StoreUnavailable, BadItem, DuplicateId, OSError) as error:
            raise DomainUnavailable(f"memory: {error}") from None

    def _some(self, store: Store, ids: Sequence[str], project: str | None = None) -> Iterator[Item]:
        """Yield those of these items that exist, reading them in batches."""
        for batch in in_batches(list(dict.fromkeys(ids)), _AT_ONCE):
            yield from (item for item in store.get(batch) if project in (None, item.project))


def _is_kept(item: Item) -> bool:
    """Return whether memory itself promises to keep it: pinned, a key decision, or in the tier that nothing leaves by itself."""
    return item.held or item.for_good or (item.tier == ARCHIVE and not item.waits)


def _next_step(item: Item, now: float, held: Holds) -> str:
    return sweep.next_step(item.mark, now, not _is_kept(item), held.on(item) is not None)


def _hold_of(value: Mapping[str, object]) -> Hold:
    try:
        return Hold(**value)  # type: ignore[arg-type]  # as `add_hold` wrote it
    except TypeError:
        raise DomainUnavailable("memory: a hold in its store is not as it was written. Restore the store from a backup") from None


def _without(store: Store, ids: Sequence[str]) -> dict[str, object]:
    removed = set(ids)
    return {published_marks.ACTORS_KEY: {id: by for id, by in published_marks.actors(store).items() if id not in removed} or None}
