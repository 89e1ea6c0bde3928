"""A Dask cluster finds what processes find, to the digit, whatever becomes of its workers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from popkit_retention.cli.main import main
from popkit_retention.parallel import cluster as dask_cluster
from popkit_retention.parallel.results import Workplace, results
from popkit_retention.parallel.sources import DAMAGED, SourceUnavailable
from tests.cli.remembered import Remembered
from tests.lab.test_survey import session
from tests.parallel.clusters import cluster, joined
from tests.parallel.tasks import length_slowly, length_unless_killed
from tests.parallel.test_sources import written
from tests.paths import ROOT
from tests.patience import HANG_S, until

pytestmark = pytest.mark.usefixtures("distributed")


@pytest.fixture(scope="module")
def distributed() -> ModuleType:
    """Dask's package, which takes a second to load: by the worker that has these tests alone."""
    return pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def scheduler(distributed: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler with two workers."""
    with cluster(tmp_path_factory.mktemp("cluster")) as address:
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=HANG_S)
        yield address


@pytest.fixture
def impatient(distributed: ModuleType, scheduler: str) -> Iterator[str]:
    """The scheduler, which gives a session up at once that has ended a worker."""
    with distributed.Client(scheduler, set_as_default=False) as client:
        before = client.run_on_scheduler(_allow, failures=0)
        yield scheduler
        client.run_on_scheduler(_allow, failures=before)


def _allow(dask_scheduler: Any, failures: int) -> int:
    """Set how many workers a session may end before it is given up; how many they were."""
    before, dask_scheduler.allowed_failures = dask_scheduler.allowed_failures, failures
    return before


@pytest.fixture
def shop(tmp_path: Path) -> Remembered:
    return Remembered(tmp_path / "shop")


@pytest.fixture
def company(tmp_path: Path) -> Path:
    """Sessions of three repositories, and one that is broken."""
    for number in range(9):
        path = tmp_path / f"-shop-{number % 3}" / f"{number}.jsonl"
        session(path, 8 + number, number)
        path.write_text(path.read_text().replace('"id": "m', f'"id": "{number}-m'))  # each has answers of its own
    (tmp_path / "-shop-0" / "noise.jsonl").write_bytes(os.urandom(500))
    return tmp_path


def answer_of(capsys: pytest.CaptureFixture, folder: Path, *words: str) -> dict:
    code = main([*words, "--json"], {"HOME": str(folder), "POPKIT_HOME": str(folder / "home")})
    assert code == 0
    answer = json.loads(capsys.readouterr().out)
    answer.pop("seconds", None)
    return answer


def test_the_lab_finds_the_same_on_one_process_on_two_and_on_a_cluster(scheduler: str, company: Path, capsys) -> None:
    asked = ("lab", str(company), "--policy", "spec", "auto", "--ttl", "both")
    ways = (("--jobs", "1"), ("--jobs", "2"), ("--scheduler", scheduler))
    alone, together, spread = (json.dumps(answer_of(capsys, company, *asked, *way)) for way in ways)
    assert alone == together == spread
    assert json.loads(alone)["sessions"] == 9
    assert json.loads(alone)["skipped_files"] == [[str(company / "-shop-0" / "noise.jsonl"), DAMAGED]]


def test_a_bill_comes_to_the_same_on_a_cluster(scheduler: str, company: Path, capsys) -> None:
    alone = answer_of(capsys, company, "bill", str(company), "--jobs", "1")
    assert alone["whole"]["sessions"] == 9
    assert answer_of(capsys, company, "bill", str(company), "--scheduler", scheduler) == alone
    bill = answer_of(capsys, company, "bill", f"file://{company}", "--scheduler", scheduler)
    bill["left_out"] = [[path.removeprefix("file://"), reason] for path, reason in bill["left_out"]]
    assert bill == alone


def test_memory_learns_the_same_on_a_cluster(scheduler: str, shop: Remembered, tmp_path: Path) -> None:
    for number, id in enumerate(("zebra", "monkey", "ape", "lion", "cat")):
        folder = shop.session(id, f"src/checkout/module_{number % 2}.ts").parent
    (folder / "broken.jsonl").write_text("root:x:0:0\n")
    kept = []
    for number, way in enumerate((("--jobs", "1"), ("--jobs", "3"), ("--scheduler", scheduler), ("--jobs", "1"))):
        place = str(folder) if number < 3 else f"file://{folder}"
        own = {"POPKIT_HOME": str(tmp_path / f"home-{number}")}
        done = shop.ask("admin", "learn", "--past", place, *way, "--json", **own)
        assert done.returncode == 0, done.stderr
        exported = shop.ask("admin", "export", "--all", **own).stdout.splitlines()[1:-1]
        kept.append((json.loads(done.stdout), exported))
    assert kept[0][0]["sessions"] == 5
    assert kept[0][0]["left_out"] == {
        "is not a Claude Code transcript: none of its 1 line belongs to a conversation".rpartition(": ")[2]: 1
    }
    assert len(kept[0][1]) > 4
    assert all(each == kept[0] for each in kept[1:])


def test_a_command_without_the_packages_runs_in_the_interpreter_that_has_them(company: Path, tmp_path: Path) -> None:
    env = {"HOME": str(company), "PATH": os.environ["PATH"]}
    words = [ROOT / "bin" / "popkit", "lab", f"file://{company}", "--policy", "nothing", "--json"]
    refused = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    if "Install them with: popkit setup cluster" not in refused.stdout:
        pytest.skip("the Python of the command line has the packages itself")
    done = subprocess.run(words, env={**env, "VIRTUAL_ENV": sys.prefix}, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["sessions"] == 9


def test_a_worker_that_is_killed_in_mid_run_loses_no_session(distributed: ModuleType, scheduler: str, tmp_path: Path) -> None:
    sources = written(tmp_path, *(f"session-{number}" for number in range(80)))
    with distributed.Client(scheduler, set_as_default=False) as client:
        before = list(client.run(os.getpid).values())
        seen = []
        for each in results(length_slowly, sources, Workplace(scheduler=scheduler)):
            seen.append(each)
            if len(seen) == 5:
                os.kill(before[0], signal.SIGKILL)
        assert seen == [(source, source.size, "") for source in sources]
        assert before[0] not in client.run(os.getpid).values()


def test_a_session_that_ends_its_workers_is_named(impatient: str, tmp_path: Path) -> None:
    sources = written(tmp_path, "deadly", "one", "two")
    reasons = {
        Path(source.address).stem: reason for source, _, reason in results(length_unless_killed, sources, Workplace(scheduler=impatient))
    }
    assert reasons.pop("deadly") == "the workers that read it were ended"
    assert set(reasons.values()) <= {"", "the workers that read it were ended"}, "one that waited behind it may be taken for it"


def test_small_sessions_share_tasks_and_one_that_kills_its_workers_takes_none_along(
    distributed: ModuleType, impatient: str, tmp_path: Path
) -> None:
    sources = written(tmp_path, *(f"session-{number:03}" for number in range(120)), "deadly")
    with distributed.Client(impatient, set_as_default=False) as client:
        before = set(client.run_on_scheduler(_tasks))
        lengths = list(results(length_unless_killed, sources, Workplace(scheduler=impatient)))
        sent = set(client.run_on_scheduler(_tasks)) - before
    named = [Path(source.address).stem for source, length, _ in lengths if length is None]
    assert "deadly" in named
    assert [source for source, _, _ in lengths] == sources
    assert len(named) < 20, "only what waited on the same worker may be taken for it"
    assert len(sent) < 100


def _tasks(dask_scheduler: object) -> list[str]:
    """The tasks that a scheduler has worked on, by key."""
    return [key for key, *_ in getattr(dask_scheduler, "transition_log", ()) if key.startswith("on_worker")]


def test_workers_with_other_code_are_refused(distributed: ModuleType, scheduler: str, tmp_path: Path) -> None:
    for name in ("hooks", "power-mode"):
        shutil.copytree(ROOT / name, tmp_path / "other" / name, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
    shutil.copy(ROOT / "retention-config.json", tmp_path / "other")
    with (tmp_path / "other" / "power-mode" / "popkit_retention" / "lab" / "survey.py").open("a") as file:
        file.write("# newer\n")
    others = os.pathsep.join([str(tmp_path / "other"), str(tmp_path / "other" / "power-mode")])
    with distributed.Client(scheduler, set_as_default=False) as client:

        def is_there() -> bool:
            return "newer" in (each["name"] for each in client.scheduler_info(n_workers=-1)["workers"].values())

        with joined(tmp_path, scheduler, "newer", PYTHONPATH=others):
            until(is_there, "another worker")
            with pytest.raises(SourceUnavailable, match=r"1 workers of .* another version"):
                list(results(length_slowly, written(tmp_path, "one"), Workplace(scheduler=scheduler)))
        until(lambda: not is_there(), "it to be gone")


@pytest.mark.server
def test_where_no_scheduler_answers_it_says_how_to_start_one(company: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "_CONNECT_S", 1)
    for address in ("tcp://127.0.0.1:9", "nonsense"):
        assert main(["lab", str(company), "--scheduler", address], {"HOME": str(company)}) == 1
        shown = capsys.readouterr()
        assert "dask scheduler" in " ".join(shown.err.split()), shown


def test_processes_and_a_cluster_are_not_asked_for_at_once(company: Path, capsys) -> None:
    assert main(["lab", str(company), "--scheduler", "tcp://127.0.0.1:9", "--jobs", "2"], {"HOME": str(company)}) == 1
    assert "Give one of them" in capsys.readouterr().err
