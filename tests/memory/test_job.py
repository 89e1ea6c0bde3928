"""The job: moves, compresses, marks, deletes; again it changes nothing; and every hour for an agent's own memory."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.memory import InMemoryStore, Memory, SqliteStore, job
from popkit_retention.memory.embeddings import HashedEmbedder
from popkit_retention.memory.hourly_job import HourlyJob, for_thread
from popkit_retention.memory.items import ARCHIVE, COLD, EMBEDDING, FULL, HOT, KEYWORDS, SUMMARY, WARM
from popkit_retention.memory.job import last_run
from popkit_retention.memory.stores.protocol import Batch, Store
from popkit_retention.memory.summariser import SummariserLate
from tests.patience import until

from .remembering import DAY, HOUR, NOW, PROJECT, Remembering

LONG = " ".join(
    f"On day {number} the team of {name} agreed to move the {thing} service to port {8000 + number}, because the old one was slow."
    for number, (name, thing) in enumerate(
        zip(["Ada", "Grace", "Linus", "Barbara", "Ken", "Edsger", "Donald", "Radia"] * 3, ["cart", "search", "mail", "login"] * 6)
    )
)


def old(days: float) -> dict[str, Any]:
    return {"at": NOW - days * DAY}


def test_items_move_as_the_rules_say_and_the_audit_tells_why(remembering: Remembering):
    for number in range(10):  # so that nothing else is among the newest
        remembering.keep(f"n{number}", kind="path", profile="code", tier=WARM)
    remembering.keep("hot", tier=HOT, profile="prose", uniqueness=0.6, **old(2))
    remembering.keep("warm", tier=WARM, profile="prose", uniqueness=0.6, **old(9))
    report = remembering.memory.run()
    assert report is not None
    assert report.moved == {"HOT to WARM": 1, "WARM to COLD": 11}
    assert (remembering.item("hot").tier, remembering.item("warm").tier) == (WARM, COLD)
    assert remembering.item("hot").previous_tier == HOT
    assert remembering.item("hot").tier_since == NOW
    (entry,) = [entry for entry in remembering.store.logged("warm") if entry["action"] == "WARM to COLD"]
    assert entry["reasons"] == ["learnt 9.0 days ago"]


def test_the_ten_newest_stay_hot_when_they_are_worth_it(remembering: Remembering):
    for number in range(12):
        remembering.keep(f"n{number:02}", tier=HOT, profile="spec", confidence=1.0, source="user", uniqueness=1.0,
                         access_count=4, accesses=[NOW] * 12, created_at=NOW - (30 - number) * HOUR, tier_since=NOW - 40 * HOUR,
                         last_accessed=NOW)  # fmt: skip
    report = remembering.memory.run()
    assert report is not None
    assert report.moved == {"HOT to WARM": 2}
    assert {item.id for item in remembering.memory.list(tiers=[WARM])} == {"n00", "n01"}


def test_what_is_worth_nothing_is_marked_and_a_day_later_deleted(remembering: Remembering):
    remembering.keep("dead", tier=COLD, profile="code", text="x" * 60, **old(31))
    assert remembering.memory.run().marked == 1
    item = remembering.item("dead")
    assert (item.marked_at, item.marked_by) == (NOW, "job")
    assert remembering.after(23 * HOUR).run().deleted == 0
    assert remembering.after(HOUR).run().deleted == 1
    assert remembering.store.get(["dead"]) == []
    assert [entry["action"] for entry in remembering.store.logged("dead")] == ["deleted", "marked"]


def test_it_runs_once_an_hour_unless_it_is_forced(remembering: Remembering):
    assert remembering.memory.run() is not None
    assert remembering.after(59 * 60).run() is None
    assert remembering.memory.run(force=True) is not None
    assert remembering.after(HOUR).run() is not None


def test_a_clock_that_leapt_back_does_not_stop_it(remembering: Remembering):
    remembering.memory.run()
    assert remembering.after(-30 * DAY).run() is not None


def test_run_again_it_changes_nothing(remembering: Remembering):
    for tier in (HOT, WARM, COLD, ARCHIVE):
        for days in (0, 3, 10, 40):
            remembering.keep(
                f"{tier}{days}",
                tier=tier,
                text=LONG,
                profile="code" if days % 2 else "prose",
                uniqueness=0.2,
                source="session",
                **old(days),
            )
    remembering.memory.run()
    before = list(remembering.store.scan())
    again = remembering.memory.run(force=True)
    assert (again.moved, again.compressed, again.marked, again.deleted) == ({}, {}, 0, 0)
    assert list(remembering.store.scan()) == before


def test_killed_anywhere_it_ends_as_if_it_had_not_been():
    def filled() -> Remembering:
        kept = Remembering(InMemoryStore())
        for number in range(40):
            kept.keep(f"m{number:02}", tier=(HOT, WARM, COLD)[number % 3], profile="code", **old(number))
        return kept

    class Killed(Exception):
        pass

    whole = filled()
    whole.memory.run()
    for after in (0, 1, 2):
        kept = filled()
        write, written = kept.store.write, [0]

        def killed(batch: Batch, write: Any = write, written: list[int] = written, after: int = after) -> None:
            if written[0] == after:
                raise Killed
            written[0] += 1
            write(batch)

        kept.store.write = killed
        with pytest.raises(Killed):
            _run_in_small_batches(kept)
        kept.store.write = write
        kept.memory.run(force=True)
        assert list(kept.store.scan()) == list(whole.store.scan())


def _run_in_small_batches(kept: Remembering) -> None:
    work = job._Work(kept.store, NOW, HashedEmbedder(), None, job.Report())
    for item in kept.store.scan():
        work.consider(item)
        if work.report.items % 10 == 0:
            work.write()
    work.finish()


def test_a_text_is_compressed_level_by_level_and_comes_back_whole(remembering: Remembering):
    fields = {"text": LONG, "tier": COLD, "uniqueness": 0.1}
    remembering.keep("day", **fields, **old(2))
    remembering.keep("month", **fields, **old(31))
    remembering.keep("week", **fields, **old(8))
    assert remembering.memory.run().compressed == {SUMMARY: 3, KEYWORDS: 2, EMBEDDING: 1}
    assert [remembering.item(id).level for id in ("day", "week", "month")] == [SUMMARY, KEYWORDS, EMBEDDING]
    month = remembering.item("month")
    assert month.text == ""
    assert month.embedding is not None
    assert len(month.embedding) == 384
    assert len(remembering.item("day").text) < len(LONG) / 3
    for id in ("day", "week", "month"):
        (item,) = remembering.memory.restore([id])
        assert (item.level, item.text) == (FULL, LONG)


@pytest.mark.parametrize("text", [LONG, "Never push to main: scripts/ship.sh does.", "Be brief."])
@pytest.mark.parametrize("source", ["user", "session", "import"])
def test_a_note_that_nobody_uses_passes_all_levels_and_is_not_deleted(remembering: Remembering, text: str, source: str):
    remembering.memory.add(text, id="note", source=source)
    levels = {}
    for day in range(40):
        remembering.memory.run()
        levels.setdefault(remembering.item("note").level, day)
        remembering.now += DAY
    assert list(levels) == [FULL, SUMMARY, KEYWORDS, EMBEDDING]
    assert (levels[KEYWORDS], levels[EMBEDDING]) == (8, 30)
    assert [item.id for item in remembering.memory.list()] == ["note"]
    (restored,) = remembering.memory.restore(["note"])
    assert restored.text == text


def test_memory_md_has_the_users_own_words_at_every_level(remembering: Remembering):
    note = "Never push to main, not even when the build is green, before Ada has looked at it and said so in the channel."
    remembering.memory.add(note, id="note")
    remembering.memory.add(
        "Somebody thinks that pushing to main is fine when the build is green and nobody looks.", id="other", source="import"
    )
    for _ in range(40):
        remembering.after(DAY).run()
    assert (remembering.item("note").level, remembering.item("note").text) == (EMBEDDING, "")
    assert note in remembering.memory.document().text
    assert "Somebody thinks" not in remembering.memory.document().text


@pytest.mark.parametrize(("tier", "level"), [(HOT, FULL), (WARM, SUMMARY), (COLD, EMBEDDING), (ARCHIVE, SUMMARY)])
def test_a_tier_has_the_levels_that_its_policy_says(remembering: Remembering, tier: str, level: str):
    times = {**old(40), **({"last_accessed": NOW - 6 * DAY} if tier == WARM else {"reinforced": [NOW]} if tier == HOT else {})}
    remembering.keep("m1", text=LONG, tier=tier, uniqueness=0.3, **times)
    remembering.memory.run()
    assert (remembering.item("m1").tier, remembering.item("m1").level) == (tier, level)


def test_what_the_user_holds_or_asks_for_is_not_compressed(remembering: Remembering):
    fields = {"text": LONG, "tier": COLD, "uniqueness": 0.1}
    remembering.keep("held", held=True, **fields, **old(9))
    remembering.keep("asked", access_count=4, **fields, **old(9))
    assert remembering.memory.run().compressed == {}


def test_a_summariser_that_fails_leaves_the_text_and_is_counted(remembering: Remembering):
    remembering.keep("day", text=LONG, tier=COLD, uniqueness=0.1, **old(2))

    def broken(text: str) -> str:
        raise OSError("no such program")

    remembering.memory.summarise = broken
    report = remembering.memory.run()
    assert (report.failed, report.failures) == (1, ["day: no such program"])
    assert remembering.item("day").text == LONG


def test_a_summariser_that_is_always_late_is_soon_asked_no_more(remembering: Remembering):
    for number in range(6):
        remembering.keep(f"day{number}", text=LONG, tier=COLD, uniqueness=0.1, **old(2))
    asked = []

    def late(text: str) -> str:
        asked.append(text)
        raise SummariserLate("my-llm took longer than 60 seconds")

    remembering.memory.summarise = late
    report = remembering.memory.run()
    assert report is not None
    assert (len(asked), report.failed) == (3, 3)
    remembering.memory.summarise = None
    assert remembering.memory.run(force=True).compressed == {SUMMARY: 6}


def test_what_was_pinned_once_is_announced_before_it_is_deleted(remembering: Remembering):
    fields = {"tier": COLD, "profile": "code", "text": "x" * 60}
    remembering.keep("pinned", was_held=True, **fields, **old(28.5))
    remembering.keep("other", **fields, **old(28.5))
    remembering.keep("far", was_held=True, **fields, **old(20))
    (alert,) = remembering.memory.run().alerts
    assert (alert["id"], alert["at"]) == ("pinned", pytest.approx(NOW + 2.5 * DAY, abs=HOUR))
    (alert,) = remembering.after(2 * DAY).run().alerts
    assert alert["at"] == pytest.approx(NOW + 3 * DAY, abs=HOUR)
    assert remembering.memory.status()["alerts"] == [alert]


def test_over_sixty_days_everything_of_value_is_announced_before_it_goes(remembering: Remembering):
    """And nothing else is: neither what sessions teach again, nor what the user has forgotten, nor what stays."""
    spec = {"profile": "spec", "tier": WARM, "text": "x" * 60}
    for number in range(24):
        fields = {"uniqueness": number % 4 / 10, "confidence": number % 3 / 10, **old(number % 7)}
        remembering.keep(f"said{number:02}", source=("user", "accepted", "agent", "import")[number % 4], **{**spec, **fields})
        remembering.keep(f"junk{number:02}", **{**spec, **fields})
    remembering.keep("pinned", was_held=True, **spec, uniqueness=0.1, confidence=0.1)
    remembering.keep("by the user", source="import", **spec, marked_at=NOW, marked_by="user")
    remembering.keep("by a tool", source="user", **spec, marked_at=NOW, marked_by="tool")
    alerted: dict[str, list[float]] = {}
    gone: dict[str, float] = {}
    for _ in range(60 * 4):
        there = {item.id for item in remembering.store.scan()}
        for alert in remembering.memory.run().alerts:
            alerted.setdefault(alert["id"], []).append(alert["at"])
            assert alert["at"] - remembering.now <= 3 * DAY + HOUR
        gone.update(dict.fromkeys(there - {item.id for item in remembering.store.scan()}, remembering.now))
        remembering.now += 6 * HOUR
    of_value = {id for id in gone if not id.startswith("junk") and id != "by the user"}
    assert of_value == set(alerted)
    assert len(of_value) >= 12
    assert len([id for id in gone if id.startswith("junk")]) >= 10
    for id in of_value:
        assert abs(alerted[id][-1] - gone[id]) <= 6 * HOUR
        assert len(alerted[id]) >= (3 if id == "by a tool" else 11)  # for three days, four times a day


def test_what_a_retention_policy_has_marked_is_announced_too(remembering: Remembering):
    remembering.keep("said", source="user", marked_at=NOW, marked_by="policy")
    remembering.keep("taught", profile="code", marked_at=NOW, marked_by="policy")
    assert [(alert["id"], alert["at"]) for alert in remembering.memory.run().alerts] == [("said", NOW + DAY)]


def test_the_session_clock_keeps_what_an_idle_project_knows(remembering: Remembering):
    remembering.store.set_value("sessions:" + PROJECT, {"count": 4})
    remembering.keep("rested", tier=WARM, source="user", session=4, **old(40))
    assert remembering.memory.run().moved == {}
    remembering.store.set_value("sessions:" + PROJECT, {"count": 15})
    assert remembering.memory.run(force=True).moved == {"WARM to COLD": 1}


def test_items_of_every_tier_and_level_are_seen_through(remembering: Remembering):
    for tier in (HOT, WARM, COLD, ARCHIVE):
        for level in (FULL, SUMMARY, KEYWORDS, EMBEDDING):
            remembering.keep(f"{tier}-{level}", tier=tier, level=level, text="" if level == EMBEDDING else LONG, **old(60))
    assert remembering.memory.run().items == 16


def test_of_the_audit_the_newest_entries_stay(remembering: Remembering):
    remembering.store.log([{"at": NOW, "action": str(number), "id": "m"} for number in range(job.LOGGED + 3)])
    remembering.memory.run()
    assert [entry["action"] for entry in remembering.store.logged(most=job.LOGGED + 3)][-1] == "3"


# --- every hour, on a thread that ends with the memory ------------------------------------------------------------------------------------


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "popkit-memory-job"]


def test_the_job_runs_at_once_and_its_thread_ends_with_the_memory(store: Store):
    Remembering(store).keep("old", tier="HOT", created_at=NOW - 9 * DAY, last_accessed=NOW - 9 * DAY, profile="code")
    with Memory(store, "agent", lambda: NOW, job="hourly"):
        until(lambda: last_run(store), "the job has run")
        assert [thread.daemon for thread in threads()] == [True]
        assert [item.tier for item in store.get(["old"])] == ["COLD"]
    assert threads() == []


def test_it_runs_again_when_an_hour_has_passed(store: Store):
    kept = Remembering(store)
    work = HourlyJob(lambda: Memory(for_thread(store), "agent", lambda: kept.now), every_s=0.01)
    until(lambda: last_run(store), "it runs")
    kept.now += HOUR
    until(lambda: last_run(store)["at"] == kept.now, "it runs again")
    work.close()
    assert work.failure is None


def test_what_goes_wrong_is_kept_and_tried_again(tmp_path: Path):
    path = tmp_path / "there" / "memory.sqlite"
    tmp_path.joinpath("there").write_text("in the way")
    work = HourlyJob(lambda: Memory(SqliteStore(str(path)), "agent", lambda: NOW), every_s=0.01)
    until(lambda: work.failure, "it fails")
    tmp_path.joinpath("there").unlink()
    until(lambda: path.exists() and work.failure is None, "it works")
    work.close()


def test_a_memory_that_is_dropped_takes_its_thread_along():
    memory = Memory(InMemoryStore(), "agent", lambda: NOW, job="hourly")
    assert len(threads()) == 1
    del memory
    gc.collect()
    until(lambda: not threads(), "the thread has ended")


def test_another_job_is_refused():
    with pytest.raises(ValueError, match="hourly"):
        Memory(InMemoryStore(), job="daily")
