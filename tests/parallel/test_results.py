"""The results of a function over sessions: in their order, each once, whatever becomes of the processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from popkit_retention.parallel import Source, Where, find, results
from tests.parallel.tasks import length, length_unless_killed


def written(folder: Path, *names: str) -> list[Source]:
    """Files of different sizes."""
    for number, name in enumerate(names):
        (folder / f"{name}.jsonl").write_bytes(b"x" * (10 + 7 * number % 50))
    return find([str(folder)], print)


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_they_come_in_the_order_of_the_sessions_however_many_processes_there_are(tmp_path: Path, jobs: int) -> None:
    found = written(tmp_path, *(f"session-{number}" for number in range(70)))
    assert list(results(length, found, Where(jobs))) == [(source, source.size, "") for source in found]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_broken_session_has_a_reason_and_does_not_stop_the_others(tmp_path: Path, jobs: int) -> None:
    found = written(tmp_path, "one", "skipped", "broken", "two", "gone")
    (tmp_path / "gone.jsonl").unlink()
    reasons = {Path(source.address).stem: (value, reason) for source, value, reason in results(length, found, Where(jobs))}
    assert {name: reason for name, (value, reason) in reasons.items() if value is None} == {
        "skipped": "of no use",
        "broken": "could not be read: KeyError 'what nobody foresaw'",
        "gone": "cannot be read: No such file or directory",
    }
    assert len(reasons) == 5


def test_a_session_whose_process_is_killed_is_tried_once_more_and_named_when_that_is_killed_too(tmp_path: Path) -> None:
    names = [f"session-{number}" for number in range(12)]
    found = written(tmp_path, "once", "deadly", *names)
    reasons = {Path(source.address).stem: reason for source, _, reason in results(length_unless_killed, found, Where(2))}
    assert reasons == {"once": "", "deadly": "the process that read it was ended, twice", **dict.fromkeys(names, "")}


def test_one_process_is_used_where_there_is_little_to_do_and_nobody_asked_for_more() -> None:
    little, much = [Source("a", 10)], [Source("a", 10), Source("b", 10)]
    assert Where().worth(little, 15) == Where(1)
    assert Where().worth(much, 15) == Where()
    assert Where(4).worth(little, 15) == Where(4)
    assert Where(scheduler="tcp://x").worth(little, 15) == Where(scheduler="tcp://x")
