"""A collection marks what the policy releases and deletes it a day later, unless a hold, a placeholder or a use keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.core.retention_kit.holds import ITEM, Hold
from popkit_retention.core.retention_kit.marks import GRACE_S
from popkit_retention.governance import collection
from popkit_retention.governance.domains.rules import Verdict
from tests.governance.collectors import Workspace, ids
from tests.governance.stored import DAY, NOW, KeptDomain, Thing

LATER = NOW + GRACE_S


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Three old things, oldest first, and a new one."""
    things = {name: Thing(at=NOW - days * DAY) for name, days in (("oldest", 90), ("older", 60), ("old", 31), ("new", 3))}
    workspace = Workspace(tmp_path / "home", KeptDomain(things))
    with closing(workspace.log):
        yield workspace


def hold(id: str, until: float | None = None) -> Hold:
    return Hold("h-" + id, ITEM, id, "Ada", "the audit", NOW, until)


def test_a_plan_changes_nothing_and_names_the_oldest_first(workspace: Workspace):
    planned = workspace.plan()
    assert ids(planned.marks) == ["oldest", "older", "old"]
    assert (planned.deletes, planned.unmarked, planned.waiting, planned.truncated) == ([], [], [], False)
    assert planned.kept == {"within_retention_period": 1}
    assert not workspace.domain.marks
    assert workspace.log.count() == 0


def test_what_is_marked_is_deleted_a_day_later_and_not_a_moment_before(workspace: Workspace):
    assert ids(workspace.gc().marks) == ["oldest", "older", "old"]
    early = workspace.gc(LATER - 1)
    assert (early.marks, early.deletes, ids(early.waiting)) == ([], [], ["oldest", "older", "old"])
    assert ids(workspace.gc(LATER).deletes) == ["oldest", "older", "old"]
    assert list(workspace.domain.things) == ["new"]
    assert workspace.logged("marked") == workspace.logged("deleting") == workspace.logged("deleted") == [["oldest", "older", "old"]]
    assert workspace.log.unfinished() == []


def test_a_collection_that_is_run_again_does_nothing_more(workspace: Workspace):
    workspace.gc()
    before = workspace.log.count()
    again = workspace.gc()
    assert (again.marks, again.deletes, again.unmarked) == ([], [], [])
    assert workspace.log.count() == before


def test_deletions_and_new_marks_are_together_at_most_the_limit_the_oldest_first(workspace: Workspace):
    workspace.configure(limit=2)
    first = workspace.gc()
    assert ids(first.marks) == ["oldest", "older"]
    assert (first.truncated, first.left_out) == (True, 1)
    workspace.configure(limit=1)
    second = workspace.gc()
    assert ids(second.marks) == ["old"], "what waits does not count"
    third = workspace.gc(LATER)
    assert (ids(third.deletes), third.left_out) == (["oldest"], 2)


def test_a_lower_limit_takes_no_mark_back(workspace: Workspace):
    workspace.gc()
    workspace.configure(limit=1)
    assert workspace.gc().unmarked == []


def test_undo_takes_back_the_marks_that_are_named_or_all(workspace: Workspace):
    workspace.gc()
    assert workspace.undo("older", "unknown", "older") == ["older"]
    assert sorted(workspace.domain.marked()) == ["old", "oldest"]
    assert workspace.undo() == ["oldest", "old"]
    assert workspace.undo() == []
    assert workspace.gc(LATER).deletes == [], "what is undone needs a new mark, and a day"


def test_undo_in_a_project_leaves_the_marks_of_others(workspace: Workspace):
    workspace.domain.things["older"].project = "other"
    workspace.gc()
    assert workspace.undo("oldest", project="other") == []
    assert workspace.undo(project="other") == ["older"]
    assert sorted(workspace.domain.marked()) == ["old", "oldest"]


def test_what_is_held_is_neither_marked_nor_deleted_and_is_reported(workspace: Workspace):
    workspace.domain.add_hold(hold("oldest"))
    done = workspace.gc()
    assert ids(done.marks) == ["older", "old"]
    assert done.kept == {"on_hold": 1, "within_retention_period": 1}


def test_a_hold_takes_the_mark_back(workspace: Workspace):
    workspace.gc()
    workspace.domain.add_hold(hold("oldest"))
    done = workspace.gc(LATER)
    assert ids(done.deletes) == ["older", "old"]
    assert done.unmarked == [Verdict("oldest", ("on_hold",), NOW - 90 * DAY)]
    assert "oldest" in workspace.domain.things
    assert "oldest" not in workspace.domain.marked()
    entry = workspace.log.entries(action="unmarked")[0]
    assert (entry.ids, entry.details) == (["oldest"], {"reasons": {"oldest": ["on_hold"]}})


def test_the_hourly_job_leaves_alone_what_a_user_marked_against_the_policy(workspace: Workspace):
    workspace.gc()
    workspace.configure(older_than_days=80)
    assert ids(workspace.gc(by="job").unmarked) == []
    assert sorted(workspace.domain.marked()) == ["old", "older", "oldest"]
    assert ids(workspace.gc(LATER, by="job").deletes) == ["oldest"]
    assert ids(workspace.gc(LATER).unmarked) == ["older", "old"]


def test_the_hourly_job_takes_its_own_marks_back_and_any_that_a_hold_forbids(workspace: Workspace):
    workspace.gc(by="job")
    workspace.configure(older_than_days=80)
    assert sorted(ids(workspace.gc(by="job").unmarked)) == ["old", "older"]
    workspace.configure(older_than_days=30)
    workspace.gc()
    workspace.domain.add_hold(hold("older"))
    assert ids(workspace.gc(by="job").unmarked) == ["older"]


def test_a_hold_that_ends_lets_go_at_its_own_date(workspace: Workspace):
    workspace.domain.add_hold(hold("oldest", until=NOW + DAY))
    assert "oldest" not in ids(workspace.gc(NOW + DAY - 1).marks)
    assert "oldest" in ids(workspace.gc(NOW + DAY).marks)


def test_a_hold_added_between_the_plan_and_the_deletion_is_respected_and_reported(workspace: Workspace):
    workspace.gc()
    planned = workspace.plan(LATER)
    workspace.domain.add_hold(hold("older"))
    done = collection.carry_out(workspace.collector(LATER), planned)
    assert ids(planned.deletes) == ["oldest", "older", "old"]
    assert ids(done.deletes) == ["oldest", "old"]
    assert done.kept["on_hold"] == 1
    assert workspace.logged("deleting") == workspace.logged("deleted") == [["oldest", "old"]]


def test_a_mark_taken_back_between_the_plan_and_the_deletion_is_respected(workspace: Workspace):
    workspace.gc()
    planned = workspace.plan(LATER)
    workspace.undo("oldest", "older")
    workspace.domain.mark(["older"], LATER - 1, "user")
    assert ids(collection.carry_out(workspace.collector(LATER), planned).deletes) == ["old"]


def test_what_somebody_else_marks_between_the_plan_and_the_marking_is_logged_once(workspace: Workspace):
    planned = workspace.plan()
    workspace.gc(NOW - 1)
    assert collection.carry_out(workspace.collector(), planned).marks == []
    assert len(workspace.logged("marked")) == 1


def test_what_is_touched_between_the_plan_and_the_deletion_stays(workspace: Workspace):
    workspace.gc()
    planned = workspace.plan(NOW + 40 * DAY)
    workspace.domain.things["older"].at = NOW + DAY
    assert ids(collection.carry_out(workspace.collector(NOW + 40 * DAY), planned).deletes) == ["oldest", "old"]


def test_what_the_domain_refuses_at_the_last_moment_is_not_logged_as_deleted(workspace: Workspace):
    workspace.gc()
    workspace.domain.refuses = {"older"}
    assert ids(workspace.gc(LATER).deletes) == ["oldest", "old"]
    assert workspace.logged("deleting") == [["oldest", "older", "old"]]
    assert workspace.logged("deleted") == [["oldest", "old"]]
    workspace.domain.refuses = set()
    assert ids(workspace.gc(LATER).deletes) == ["older"]
    assert workspace.logged("deleted") == [["oldest", "old"], ["older"]]


def test_a_policy_changed_between_the_plan_and_the_deletion_is_obeyed(workspace: Workspace):
    workspace.gc()
    planned = workspace.plan(LATER)
    workspace.configure(older_than_days=45)
    assert ids(collection.carry_out(workspace.collector(LATER), planned).deletes) == ["oldest", "older"]
    workspace.configure(source_types=("thought",))
    assert ids(workspace.gc(LATER).unmarked) == ["old"]


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"older_than_days": 365}, "within_retention_period"),
        ({"source_types": ("action",)}, "source_type_not_in_policy"),
        ({"keep_session_ids": ("session-1",)}, "protected_session"),
    ],
)
def test_a_policy_that_keeps_what_is_marked_takes_the_marks_back(workspace: Workspace, keys: dict, reason: str):
    workspace.gc()
    workspace.configure(**keys)
    assert {verdict.id: verdict.reasons[0] for verdict in workspace.gc(LATER).unmarked} == dict.fromkeys(["oldest", "older", "old"], reason)
    assert workspace.domain.marked() == {}


def test_a_call_that_asks_for_less_than_the_policy_unmarks_nothing_and_deletes_less(workspace: Workspace):
    workspace.gc()
    done = workspace.gc_with(LATER, older_than_days=45)
    assert (ids(done.deletes), done.unmarked) == (["oldest", "older"], [])
    assert list(workspace.domain.marked()) == ["old"]
    assert ids(workspace.gc(LATER).deletes) == ["old"]


def test_a_call_that_asks_for_more_than_the_policy_must_be_repeated_to_delete_more(workspace: Workspace):
    assert ids(workspace.gc_with(older_than_days=2).marks) == ["oldest", "older", "old", "new"]
    assert ids(workspace.gc_with(LATER, older_than_days=2).deletes) == ["oldest", "older", "old", "new"]


def test_the_policy_takes_back_what_a_call_marked_against_it(workspace: Workspace):
    workspace.gc_with(older_than_days=2)
    assert ids(workspace.gc().unmarked) == ["new"]


def test_what_is_touched_after_it_was_marked_is_unmarked(workspace: Workspace):
    workspace.gc()
    workspace.domain.things["old"].at = NOW + 1
    assert [(verdict.id, verdict.reasons) for verdict in workspace.gc(LATER).unmarked] == [("old", ("within_retention_period",))]


def test_a_mark_from_before_the_last_touch_does_not_count_as_a_day_of_grace(workspace: Workspace):
    workspace.gc()
    workspace.domain.things["old"].at = NOW + 1
    done = workspace.gc(NOW + 40 * DAY)
    assert "old" not in ids(done.deletes)
    assert [(verdict.id, verdict.reasons) for verdict in done.unmarked] == [("old", ("used_since_marked",))]
    assert ids(done.marks) == ["new", "old"]
    assert workspace.domain.marked()["old"].at == NOW + 40 * DAY


def test_what_has_a_placeholder_is_kept_and_the_transcripts_are_named(workspace: Workspace):
    workspace.domain.things["older"].placeholders = ["/home/dev/session-1.jsonl"]
    done = workspace.gc()
    assert ids(done.marks) == ["oldest", "old"]
    assert done.placeholders == {"older": ["/home/dev/session-1.jsonl"]}
    assert done.kept["placeholder_in_transcript"] == 1
    workspace.domain.things["old"].placeholders = ["/home/dev/session-2.jsonl"]
    later = workspace.gc(LATER)
    assert ids(later.deletes) == ["oldest"]
    assert [(verdict.id, verdict.reasons) for verdict in later.unmarked] == [("old", ("placeholder_in_transcript",))]


def test_who_insists_deletes_what_has_a_placeholder_and_is_told_where(workspace: Workspace):
    workspace.domain.things["older"].placeholders = ["/home/dev/session-1.jsonl"]
    workspace.gc(placeholders_too=True)
    done = workspace.gc(LATER, placeholders_too=True)
    assert ids(done.deletes) == ["oldest", "older", "old"]
    assert done.placeholders == {"older": ["/home/dev/session-1.jsonl"]}


def test_placeholders_do_not_use_up_the_limit(workspace: Workspace):
    workspace.domain.things["oldest"].placeholders = ["/home/dev/session-1.jsonl"]
    workspace.configure(limit=1)
    assert ids(workspace.gc().marks) == ["older"]


def test_a_project_collects_its_own(workspace: Workspace):
    workspace.domain.things["older"].project = "other"
    workspace.gc()
    done = workspace.gc(LATER, project="other")
    assert ids(done.deletes) == ["older"]
    assert done.unmarked == [], "the marks of others are left alone"
    assert sorted(workspace.domain.marked()) == ["old", "oldest"]


def test_a_mark_without_anything_behind_it_is_taken_back(workspace: Workspace):
    workspace.gc()
    del workspace.domain.things["old"]
    assert workspace.gc().unmarked == [Verdict("old", ("gone",), None)]


def test_it_compacts_when_the_policy_says_so_and_something_was_deleted(workspace: Workspace):
    workspace.configure(vacuum=True)
    assert not workspace.gc().compacted
    assert workspace.gc(LATER).compacted
    assert not workspace.gc(LATER).compacted
    assert workspace.domain.compacted == 1


def test_it_works_in_batches_and_can_be_stopped_between_two(workspace: Workspace):
    everything = [f"thing{number}" for number in range(5)]
    workspace.domain.things = {id: Thing() for id in everything}
    progress: list[tuple[str, int, int]] = []
    workspace.gc(progress=lambda *what: progress.append(what), batch=2)
    assert progress == [("marked", 2, 5), ("marked", 4, 5), ("marked", 5, 5)]

    def stop(*_what: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workspace.gc(LATER, progress=stop, batch=2)
    assert list(workspace.domain.things) == everything[2:]
    assert ids(workspace.gc(LATER, batch=2).deletes) == everything[2:]
    assert workspace.logged("deleted") == [everything[:2], everything[2:4], everything[4:]]


def test_a_deletion_that_was_cut_short_is_logged_as_far_as_it_came(workspace: Workspace):
    workspace.gc()
    three = ["oldest", "older", "old"]
    entry = workspace.log.append("deleting", "rag", three, {}, "job", LATER, {"do": "delete", "ids": three})
    workspace.domain.copies = {"oldest", "older", "old", "new"}
    del workspace.domain.things["oldest"], workspace.domain.marks["oldest"]  # it came as far as this
    del workspace.domain.things["old"]  # somebody else's doing: its mark is there still
    workspace.undo("older")
    assert workspace.logged("deleted") == [["oldest"]], "who comes next has logged it"
    assert workspace.domain.copies == {"older", "old", "new"}, "and the domain was let finish"
    assert list(workspace.domain.things) == ["older", "new"]
    [deletion] = workspace.log.entries(action="deleted")
    assert (deletion.details, deletion.by) == ({"of": entry.number}, "job")
    collection.finish_delete(workspace.folder, workspace.domain, workspace.log, entry, LATER)
    assert len(workspace.logged("deleted")) == 1, "once"


def test_a_resource_that_was_deleted_and_recreated_unseen_still_counts_as_deleted(workspace: Workspace):
    workspace.gc()
    workspace.log.append("deleting", "rag", ["oldest", "older"], {}, "job", LATER, {"do": "delete", "ids": ["oldest", "older"]})
    del workspace.domain.marks["oldest"], workspace.domain.marks["older"]
    workspace.domain.things["oldest"].at = LATER + 1
    with workspace.changing():
        assert workspace.logged("deleted") == [["oldest"]], "the other one has only lost its mark"


def test_the_log_says_which_policy_ruled(workspace: Workspace):
    workspace.configure(older_than_days=45, source_types=("context", "thought"))
    workspace.gc(project="shop")
    [entry] = workspace.log.entries(action="marked")
    assert entry.details == {"older_than_days": 45, "source_types": ["context", "thought"], "project": "shop"}
    assert (entry.by, entry.domain, entry.at) == ("user", "rag", NOW)
