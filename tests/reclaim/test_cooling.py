"""The last copy of a content leaves the archive only when git keeps the same."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.core import archive
from popkit_retention.core.archive.holds import add_hold, held
from popkit_retention.core.archive.verification import verify
from popkit_retention.core.io import repository
from popkit_retention.core.reclaim import cooling
from popkit_retention.core.retention_kit.holds import ITEM, PROJECT, Hold
from tests.patience import HANG_S

pytestmark = pytest.mark.usefixtures("patience_with_git", "patience")

TEXT = "".join(f"value{n} = {n}\n" for n in range(40))
# More than a chain keeps warm.
BEHIND = archive.WARM_MAX_POSITION
GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": "/nowhere", "PATH": os.environ["PATH"]}


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", folder, *identity, *words], env=GIT, capture_output=True, check=True)


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooling, "PATIENCE_S", HANG_S)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a file that is not committed yet."""
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "app.py").write_text(TEXT)
    return folder


@pytest.fixture
def db(tmp_path: Path) -> Iterator:
    with closing(archive.open_archive(str(tmp_path / "archive.sqlite"))) as opened:
        yield opened


def read(db, project: Path, transcript: str = "/nowhere/session.jsonl", reads: int = 1) -> list[str]:
    """A session's Reads of the file, and so many results behind them that they are the oldest; their handles."""
    chain = archive.Chain("session", "session", "", str(project), transcript)
    shown = "\n".join(f"{number}\t{line}" for number, line in enumerate(TEXT.split("\n"), 1))
    path = str(project / "app.py")
    records = [archive.NewRecord(f"read-{n}", "read", "Read app.py", json.dumps(shown), subjects=[path]) for n in range(reads)]
    records += [archive.NewRecord(f"other-{n}", "run", f"Bash {n}", json.dumps(f"ran {n} " * 9)) for n in range(BEHIND)]
    return archive.add_records(db, chain, records)[:reads]


def test_what_a_hold_keeps_stays_whatever_git_has(db, project: Path) -> None:
    ids = read(db, project, reads=3)
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    add_hold(db, Hold("h1", ITEM, ids[1], "user", "audit", 0.0, until=100.0))
    assert cooling.cool(db, "session", now=99.0)["warm_to_cold"] == 2
    assert archive.retrieve_record(db, ids[1])["content_available"]
    assert cooling.cool(db, "session", now=100.0)["warm_to_cold"] == 1, "the hold is over"


def test_a_held_project_is_known_by_its_folder(db, project: Path) -> None:
    (id,) = read(db, project)
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    add_hold(db, Hold("h1", PROJECT, repository.of(str(project)).key, "user", "audit", 0.0))
    assert cooling.cool(db, "session")["warm_to_cold"] == 0
    (other,) = archive.add_records(db, archive.Chain("other", "other", project="/elsewhere"), [archive.NewRecord("t", "run", "x", '"y"')])
    cooling.cool(db, "other")
    assert not held(db).keeps(other, "other")
    assert archive.retrieve_record(db, id)["content_available"]


def restorable(db, id: str) -> bool:
    return archive.recover(db, id) is not None


@pytest.mark.parametrize("known", ["on disk", "staged"])
def test_what_a_file_or_the_index_alone_has_stays_in_the_archive(db, project: Path, known: str) -> None:
    (id,) = read(db, project)
    if known == "staged":
        git(project, "add", "app.py")
    cooling.cool(db, "session")
    (project / "app.py").write_text("edited\n")
    git(project, "add", "app.py")
    git(project, "gc", "-q", "--prune=now")
    assert restorable(db, id)
    assert archive.record(db, id).zone == "warm"


def test_a_session_whose_transcript_is_elsewhere_loses_nothing(db, project: Path) -> None:
    """It may be on another machine, or have been moved."""
    (id,) = read(db, project, transcript="/no/such/session.jsonl")
    (project / "app.py").unlink()
    cooling.cool(db, "session")
    assert restorable(db, id)


def test_what_is_committed_leaves_the_archive_and_comes_back_from_git(db, project: Path) -> None:
    (id,) = read(db, project)
    git(project, "add", "app.py")
    git(project, "commit", "-qm", "all")
    counts = cooling.cool(db, "session")
    assert (counts["warm_to_cold"], counts["kept_warm"]) == (1, 0)
    (project / "app.py").write_text("edited\n")
    assert archive.retrieve_record(db, id)["content_available"] is False
    assert restorable(db, id)
    assert verify(db).lost == []


def test_verify_names_what_git_no_longer_has(db, project: Path) -> None:
    (id,) = read(db, project)
    git(project, "add", "app.py")
    git(project, "commit", "-qm", "all")
    cooling.cool(db, "session")
    (project / "app.py").unlink()
    (project / ".git").rename(project / "gone")
    report = verify(db)
    assert (report.broken, report.lost) == ([], [id])


def test_git_is_asked_about_a_few_with_each_clear_and_about_each_once(db, project: Path) -> None:
    ids = read(db, project, reads=cooling.ASKED + 10)
    cooling.cool(db, "session")
    noted = [id for id in ids if archive.record(db, id).source is not None]
    assert noted == ids[: cooling.ASKED]
    git(project, "add", "app.py")
    git(project, "commit", "-qm", "all")
    cooling.cool(db, "session")
    assert [archive.record(db, id).zone for id in ids] == ["warm"] * cooling.ASKED + ["cold"] * 10
    assert all(restorable(db, id) for id in ids)


def test_once_the_time_for_git_is_up_contents_stay_until_later(db, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (id,) = read(db, project)
    git(project, "add", "app.py")
    git(project, "commit", "-qm", "all")
    with monkeypatch.context() as short:
        short.setattr(cooling, "PATIENCE_S", -1.0)
        assert cooling.cool(db, "session")["warm_to_cold"] == 0
        assert archive.retrieve_record(db, id)["content_available"] is True
    assert cooling.cool(db, "session")["warm_to_cold"] == 1
