"""What a collection takes, and when: marked, a day later deleted, and never what a hold, a placeholder or a touch keeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hooks.utils.archive.chains import ITEM, Hold
from hooks.utils.archive.deletion import GRACE_S
from popkit_retention.governance import collection
from popkit_retention.governance.domains import Verdict
from tests.governance.collectors import Desk, ids
from tests.governance.stored import DAY, NOW, KeptDomain, Thing

LATER = NOW + GRACE_S


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """Three old things, oldest first, and a new one."""
    things = {name: Thing(at=NOW - days * DAY) for name, days in (("oldest", 90), ("older", 60), ("old", 31), ("new", 3))}
    desk = Desk(tmp_path / "home", KeptDomain(things))
    with closing(desk.log):
        yield desk


def hold(id: str, until: float | None = None) -> Hold:
    return Hold("h-" + id, ITEM, id, "Ada", "the audit", NOW, until)


def test_a_plan_changes_nothing_and_names_the_oldest_first(desk: Desk):
    planned = desk.plan()
    assert ids(planned.marks) == ["oldest", "older", "old"]
    assert (planned.deletes, planned.unmarked, planned.waiting, planned.truncated) == ([], [], [], False)
    assert planned.kept == {"within_retention_period": 1}
    assert not desk.domain.marks
    assert desk.log.count() == 0


def test_what_is_marked_is_deleted_a_day_later_and_not_a_moment_before(desk: Desk):
    assert ids(desk.gc().marks) == ["oldest", "older", "old"]
    early = desk.gc(LATER - 1)
    assert (early.marks, early.deletes, ids(early.waiting)) == ([], [], ["oldest", "older", "old"])
    assert ids(desk.gc(LATER).deletes) == ["oldest", "older", "old"]
    assert list(desk.domain.things) == ["new"]
    assert desk.logged("marked") == desk.logged("deleting") == desk.logged("deleted") == [["oldest", "older", "old"]]
    assert desk.log.unfinished() == []


def test_a_collection_that_is_run_again_does_nothing_more(desk: Desk):
    desk.gc()
    before = desk.log.count()
    again = desk.gc()
    assert (again.marks, again.deletes, again.unmarked) == ([], [], [])
    assert desk.log.count() == before


def test_deletions_and_new_marks_are_together_at_most_the_limit_the_oldest_first(desk: Desk):
    desk.configure(limit=2)
    first = desk.gc()
    assert ids(first.marks) == ["oldest", "older"]
    assert (first.truncated, first.left_out) == (True, 1)
    desk.configure(limit=1)
    second = desk.gc()
    assert ids(second.marks) == ["old"], "what waits does not count"
    third = desk.gc(LATER)
    assert (ids(third.deletes), third.left_out) == (["oldest"], 2)


def test_a_lower_limit_takes_no_mark_back(desk: Desk):
    desk.gc()
    desk.configure(limit=1)
    assert desk.gc().unmarked == []


def test_undo_takes_back_the_marks_that_are_named_or_all(desk: Desk):
    desk.gc()
    assert desk.undo("older", "unknown", "older") == ["older"]
    assert sorted(desk.domain.marked()) == ["old", "oldest"]
    assert desk.undo() == ["oldest", "old"]
    assert desk.undo() == []
    assert desk.gc(LATER).deletes == [], "what is undone needs a new mark, and a day"


def test_undo_in_a_project_leaves_the_marks_of_others(desk: Desk):
    desk.domain.things["older"].project = "other"
    desk.gc()
    assert desk.undo("oldest", project="other") == []
    assert desk.undo(project="other") == ["older"]
    assert sorted(desk.domain.marked()) == ["old", "oldest"]


def test_what_is_held_is_neither_marked_nor_deleted_and_told(desk: Desk):
    desk.domain.add_hold(hold("oldest"))
    done = desk.gc()
    assert ids(done.marks) == ["older", "old"]
    assert done.kept == {"on_hold": 1, "within_retention_period": 1}


def test_a_hold_takes_the_mark_back(desk: Desk):
    desk.gc()
    desk.domain.add_hold(hold("oldest"))
    done = desk.gc(LATER)
    assert ids(done.deletes) == ["older", "old"]
    assert done.unmarked == [Verdict("oldest", ("on_hold",), NOW - 90 * DAY)]
    assert "oldest" in desk.domain.things
    assert "oldest" not in desk.domain.marked()
    entry = desk.log.entries(action="unmarked")[0]
    assert (entry.ids, entry.details) == (["oldest"], {"reasons": {"oldest": ["on_hold"]}})


def test_the_hourly_job_leaves_alone_what_a_user_marked_against_the_policy(desk: Desk):
    desk.gc()
    desk.configure(older_than_days=80)
    assert ids(desk.gc(by="job").unmarked) == []
    assert sorted(desk.domain.marked()) == ["old", "older", "oldest"]
    assert ids(desk.gc(LATER, by="job").deletes) == ["oldest"]
    assert ids(desk.gc(LATER).unmarked) == ["older", "old"]


def test_the_hourly_job_takes_its_own_marks_back_and_any_that_a_hold_forbids(desk: Desk):
    desk.gc(by="job")
    desk.configure(older_than_days=80)
    assert sorted(ids(desk.gc(by="job").unmarked)) == ["old", "older"]
    desk.configure(older_than_days=30)
    desk.gc()
    desk.domain.add_hold(hold("older"))
    assert ids(desk.gc(by="job").unmarked) == ["older"]


def test_a_hold_that_ends_lets_go_at_its_own_date(desk: Desk):
    desk.domain.add_hold(hold("oldest", until=NOW + DAY))
    assert "oldest" not in ids(desk.gc(NOW + DAY - 1).marks)
    assert "oldest" in ids(desk.gc(NOW + DAY).marks)


def test_a_hold_added_between_the_plan_and_the_deletion_is_respected_and_told(desk: Desk):
    desk.gc()
    planned = desk.plan(LATER)
    desk.domain.add_hold(hold("older"))
    done = collection.carry_out(desk.collector(LATER), planned)
    assert ids(planned.deletes) == ["oldest", "older", "old"]
    assert ids(done.deletes) == ["oldest", "old"]
    assert done.kept["on_hold"] == 1
    assert desk.logged("deleting") == desk.logged("deleted") == [["oldest", "old"]]


def test_a_mark_taken_back_between_the_plan_and_the_deletion_is_respected(desk: Desk):
    desk.gc()
    planned = desk.plan(LATER)
    desk.undo("oldest", "older")
    desk.domain.mark(["older"], LATER - 1, "user")
    assert ids(collection.carry_out(desk.collector(LATER), planned).deletes) == ["old"]


def test_what_somebody_else_marks_between_the_plan_and_the_marking_is_logged_once(desk: Desk):
    planned = desk.plan()
    desk.gc(NOW - 1)
    assert collection.carry_out(desk.collector(), planned).marks == []
    assert len(desk.logged("marked")) == 1


def test_what_is_touched_between_the_plan_and_the_deletion_stays(desk: Desk):
    desk.gc()
    planned = desk.plan(NOW + 40 * DAY)
    desk.domain.things["older"].at = NOW + DAY
    assert ids(collection.carry_out(desk.collector(NOW + 40 * DAY), planned).deletes) == ["oldest", "old"]


def test_what_the_domain_refuses_at_the_last_moment_is_not_logged_as_deleted(desk: Desk):
    desk.gc()
    desk.domain.refuses = {"older"}
    assert ids(desk.gc(LATER).deletes) == ["oldest", "old"]
    assert desk.logged("deleting") == [["oldest", "older", "old"]]
    assert desk.logged("deleted") == [["oldest", "old"]]
    desk.domain.refuses = set()
    assert ids(desk.gc(LATER).deletes) == ["older"]
    assert desk.logged("deleted") == [["oldest", "old"], ["older"]]


def test_a_policy_changed_between_the_plan_and_the_deletion_is_obeyed(desk: Desk):
    desk.gc()
    planned = desk.plan(LATER)
    desk.configure(older_than_days=45)
    assert ids(collection.carry_out(desk.collector(LATER), planned).deletes) == ["oldest", "older"]
    desk.configure(source_types=("thought",))
    assert ids(desk.gc(LATER).unmarked) == ["old"]


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"older_than_days": 365}, "within_retention_period"),
        ({"source_types": ("action",)}, "source_type_not_in_policy"),
        ({"keep_session_ids": ("session-1",)}, "protected_session"),
    ],
)
def test_a_policy_that_keeps_what_is_marked_takes_the_marks_back(desk: Desk, keys: dict, reason: str):
    desk.gc()
    desk.configure(**keys)
    assert {each.id: each.reasons[0] for each in desk.gc(LATER).unmarked} == dict.fromkeys(["oldest", "older", "old"], reason)
    assert desk.domain.marked() == {}


def test_a_call_that_asks_for_less_than_the_policy_takes_no_mark_back_and_deletes_less(desk: Desk):
    desk.gc()
    done = desk.gc_with(LATER, older_than_days=45)
    assert (ids(done.deletes), done.unmarked) == (["oldest", "older"], [])
    assert list(desk.domain.marked()) == ["old"]
    assert ids(desk.gc(LATER).deletes) == ["old"]


def test_a_call_that_asks_for_more_than_the_policy_needs_a_second_one_that_does_so_too(desk: Desk):
    assert ids(desk.gc_with(older_than_days=2).marks) == ["oldest", "older", "old", "new"]
    assert ids(desk.gc_with(LATER, older_than_days=2).deletes) == ["oldest", "older", "old", "new"]


def test_the_policy_takes_back_what_a_call_marked_against_it(desk: Desk):
    desk.gc_with(older_than_days=2)
    assert ids(desk.gc().unmarked) == ["new"]


def test_what_is_touched_after_it_was_marked_is_unmarked(desk: Desk):
    desk.gc()
    desk.domain.things["old"].at = NOW + 1
    assert [(each.id, each.reasons) for each in desk.gc(LATER).unmarked] == [("old", ("within_retention_period",))]


def test_a_mark_from_before_the_last_touch_does_not_count_as_a_day_of_grace(desk: Desk):
    desk.gc()
    desk.domain.things["old"].at = NOW + 1
    done = desk.gc(NOW + 40 * DAY)
    assert "old" not in ids(done.deletes)
    assert [(each.id, each.reasons) for each in done.unmarked] == [("old", ("used_since_marked",))]
    assert ids(done.marks) == ["new", "old"]
    assert desk.domain.marked()["old"].at == NOW + 40 * DAY


def test_what_has_a_placeholder_is_kept_and_the_transcripts_are_named(desk: Desk):
    desk.domain.things["older"].placeholders = ["/home/dev/session-1.jsonl"]
    done = desk.gc()
    assert ids(done.marks) == ["oldest", "old"]
    assert done.placeholders == {"older": ["/home/dev/session-1.jsonl"]}
    assert done.kept["placeholder_in_transcript"] == 1
    desk.domain.things["old"].placeholders = ["/home/dev/session-2.jsonl"]
    later = desk.gc(LATER)
    assert ids(later.deletes) == ["oldest"]
    assert [(each.id, each.reasons) for each in later.unmarked] == [("old", ("placeholder_in_transcript",))]


def test_who_insists_deletes_what_has_a_placeholder_and_is_told_where(desk: Desk):
    desk.domain.things["older"].placeholders = ["/home/dev/session-1.jsonl"]
    desk.gc(placeholders_too=True)
    done = desk.gc(LATER, placeholders_too=True)
    assert ids(done.deletes) == ["oldest", "older", "old"]
    assert done.placeholders == {"older": ["/home/dev/session-1.jsonl"]}


def test_placeholders_do_not_use_up_the_limit(desk: Desk):
    desk.domain.things["oldest"].placeholders = ["/home/dev/session-1.jsonl"]
    desk.configure(limit=1)
    assert ids(desk.gc().marks) == ["older"]


def test_a_project_collects_its_own(desk: Desk):
    desk.domain.things["older"].project = "other"
    desk.gc()
    done = desk.gc(LATER, project="other")
    assert ids(done.deletes) == ["older"]
    assert done.unmarked == [], "the marks of others are left alone"
    assert sorted(desk.domain.marked()) == ["old", "oldest"]


def test_a_mark_without_anything_behind_it_is_taken_back(desk: Desk):
    desk.gc()
    del desk.domain.things["old"]
    assert desk.gc().unmarked == [Verdict("old", ("gone",), None)]


def test_it_compacts_when_the_policy_says_so_and_something_was_deleted(desk: Desk):
    desk.configure(vacuum=True)
    assert not desk.gc().compacted
    assert desk.gc(LATER).compacted
    assert not desk.gc(LATER).compacted
    assert desk.domain.compacted == 1


def test_it_works_in_batches_and_can_be_stopped_between_two(desk: Desk):
    everything = [f"thing{number}" for number in range(5)]
    desk.domain.things = {id: Thing() for id in everything}
    told: list[tuple[str, int, int]] = []
    desk.gc(progress=lambda *what: told.append(what), batch=2)
    assert told == [("marked", 2, 5), ("marked", 4, 5), ("marked", 5, 5)]

    def stop(*_what: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        desk.gc(LATER, progress=stop, batch=2)
    assert list(desk.domain.things) == everything[2:]
    assert ids(desk.gc(LATER, batch=2).deletes) == everything[2:]
    assert desk.logged("deleted") == [everything[:2], everything[2:4], everything[4:]]


def test_a_deletion_that_was_cut_short_is_logged_as_far_as_it_came(desk: Desk):
    desk.gc()
    three = ["oldest", "older", "old"]
    entry = desk.log.append("deleting", "rag", three, {}, "job", LATER, {"do": "delete", "ids": three})
    desk.domain.copies = {"oldest", "older", "old", "new"}
    del desk.domain.things["oldest"], desk.domain.marks["oldest"]  # it came as far as this
    del desk.domain.things["old"]  # somebody else's doing: its mark is there still
    desk.undo("older")
    assert desk.logged("deleted") == [["oldest"]], "who comes next has logged it"
    assert desk.domain.copies == {"older", "old", "new"}, "and the domain was let finish"
    assert list(desk.domain.things) == ["older", "new"]
    [told] = desk.log.entries(action="deleted")
    assert (told.details, told.by) == ({"of": entry.number}, "job")
    collection.finish_delete(desk.folder, desk.domain, desk.log, entry, LATER)
    assert len(desk.logged("deleted")) == 1, "once"


def test_what_was_deleted_and_came_back_before_anybody_looked_was_deleted_all_the_same(desk: Desk):
    desk.gc()
    desk.log.append("deleting", "rag", ["oldest", "older"], {}, "job", LATER, {"do": "delete", "ids": ["oldest", "older"]})
    del desk.domain.marks["oldest"], desk.domain.marks["older"]
    desk.domain.things["oldest"].at = LATER + 1
    with desk.changing():
        assert desk.logged("deleted") == [["oldest"]], "the other one has only lost its mark"


def test_the_log_says_which_policy_ruled(desk: Desk):
    desk.configure(older_than_days=45, source_types=("context", "thought"))
    desk.gc(project="shop")
    [entry] = desk.log.entries(action="marked")
    assert entry.details == {"older_than_days": 45, "source_types": ["context", "thought"], "project": "shop"}
    assert (entry.by, entry.domain, entry.at) == ("user", "rag", NOW)
