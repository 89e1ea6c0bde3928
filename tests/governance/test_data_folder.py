"""Where governance keeps its files, the lock that keeps its processes apart, and many processes at once."""

from __future__ import annotations

import json
import stat
import threading
from collections import Counter
from pathlib import Path

import pytest

from popkit_retention.governance import GovernanceBusy, GovernanceError
from popkit_retention.governance.controller import Controller
from popkit_retention.governance.data_folder import Folder
from popkit_retention.governance.policies import DEFAULT_POLICY, DOMAINS
from tests.governance.case import KINDS, Case
from tests.governance.stored import NOW
from tests.kit.crowds import all_do, held
from tests.kit.forks import Forks, Function


def _lock(folder: Folder) -> Path:
    """The path of its lock, in a folder that is there."""
    path = Path(folder.state) / "retention.lock"
    path.parent.mkdir(parents=True)
    return path


def test_its_files_stand_where_the_specification_says(home: Path, folder: Folder):
    assert folder.policies == str(home / "data/state/retention-policies.json")
    assert folder.log_path == str(home / "data/state/retention-log.sqlite")
    assert folder.archives == str(home / "data/archive")
    assert not home.exists(), "nothing is made that nobody needs"


def test_the_lock_makes_its_folder_and_all_of_it_is_private(home: Path, folder: Folder):
    with folder.lock():
        pass
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (home / "data", *(home / "data").rglob("*"))}
    assert set(modes.values()) == {0o700, 0o600}
    assert all(mode == (0o700 if path.is_dir() else 0o600) for path, mode in modes.items())


def test_who_waits_too_long_is_told_what_to_do_and_has_the_lock_when_it_is_free(home: Path, folder: Folder):
    with held(_lock(folder)), pytest.raises(GovernanceBusy, match="Try again"), folder.lock(wait_s=0.05):
        pytest.fail("two had the lock")
    with folder.lock(wait_s=0.05):
        pass


@pytest.mark.parametrize("blocked", ["data", "data/state", "data/state/retention.lock"])
def test_where_there_can_be_no_lock_the_message_says_why(home: Path, folder: Folder, blocked: str):
    (home / blocked).parent.mkdir(parents=True)
    (home / blocked).mkdir() if blocked.endswith("lock") else (home / blocked).write_text("in the way")
    with pytest.raises(GovernanceError, match=r"cannot be used .*Nothing was changed"), folder.lock():
        pytest.fail("there was a lock")


def test_a_link_in_place_of_the_lock_is_not_followed(home: Path, folder: Folder, tmp_path: Path):
    Path(folder.state).mkdir(parents=True)
    (Path(folder.state) / "retention.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(GovernanceError, match="cannot be used"), folder.lock():
        pytest.fail("there was a lock")
    assert not (tmp_path / "elsewhere").exists()


def test_who_has_the_lock_may_take_it_again_and_keeps_it_until_the_end(forks: Forks, home: Path, folder: Folder):
    with folder.lock():
        with folder.lock(), Folder(str(home)).lock():
            pass
        done = forks.run(Function("tests.governance.operations:lock", [str(home), 0.05]), {})
        assert "GovernanceBusy" in done.err, "it could not have it"


def test_threads_are_kept_apart_too(folder: Folder):
    seen = []

    def work() -> None:
        for _ in range(20):
            with folder.lock():
                before = len(seen)
                seen.append(None)
                assert len(seen) == before + 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    with folder.lock():
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 80


def test_a_process_that_dies_in_the_lock_gives_it_up(forks: Forks, home: Path, folder: Folder):
    assert forks.run(Function("tests.governance.operations:die_in_the_lock", [str(home)]), {}).killed
    with folder.lock(wait_s=0.05):
        pass


def test_many_processes_have_it_one_after_another(forks: Forks, home: Path, tmp_path: Path, count):
    number = tmp_path / "number"
    number.write_text("0")
    processes, often = count(4, 16), count(20, 100)
    all_do(forks, [Function("tests.governance.operations:count", [str(home), str(number), often])] * processes, {})
    assert int(number.read_text()) == processes * often


# --- many processes at once ---------------------------------------------------------------------------------------------------------------


def _raced(forks: Forks, home: Path, processes: int, often: int) -> list[list[list]]:
    """What each process was answered, in its own order."""
    works = [Function("tests.governance.operations:configure_often", [number, often]) for number in range(processes)]
    ended = all_do(forks, works, {"POPKIT_HOME": str(home)})
    return [[json.loads(line) for line in done.out.splitlines()] for done in ended]


def _assert_explained(home: Path, answers: list[list[list]], total: int) -> None:
    with Controller({"POPKIT_HOME": str(home)}) as controller:
        policies = controller.policies()
        assert policies["revision"] == total
        assert controller.verify()["ok"]
        entries = controller.log(most=None)["entries"][::-1]
    assert [(entry["number"], entry["details"]["revision"]) for entry in entries] == [(at, at) for at in range(1, total + 1)]
    by_revision = {revision: (domain, mine, policy) for each in answers for revision, domain, mine, policy in each}
    assert len(by_revision) == total, "no two were told the same revision"
    before = dict.fromkeys(DOMAINS, DEFAULT_POLICY.to_json())
    for entry in entries:
        domain, mine, policy = by_revision[entry["details"]["revision"]]
        after = entry["details"]["policies"]
        assert entry["domain"] == domain
        assert after == {**before, domain: {**before[domain], **mine}}, "a change is of its own key and domain, on top of the one before"
        assert after[domain] == policy
        before = after
    assert {domain: policies[domain] for domain in DOMAINS} == before, "the last of the log is what is in force"
    for each in answers:
        revisions = [revision for revision, *_ in each]
        assert revisions == sorted(revisions)
    for domain in DOMAINS:
        assert policies[domain]["keep_session_ids"][0].startswith(domain + "-")


def test_processes_that_configure_at_once_lose_no_change_and_mix_no_domains(forks: Forks, home: Path):
    _assert_explained(home, _raced(forks, home, 4, 10), 80)


@pytest.mark.slow
def test_sixteen_processes_configuring_at_once_lose_no_change_and_mix_no_domains(forks: Forks, home: Path):
    """Each configures a hundred times."""
    _assert_explained(home, _raced(forks, home, 16, 100), 3_200)


@pytest.mark.parametrize("kind", KINDS)
def test_what_many_collect_is_deleted_and_logged_once_and_nothing_after_it_was_held(forks: Forks, tmp_path: Path, kind: str, count):
    case = Case(tmp_path, kind, 40)
    # The collections take the oldest first, the holds come from the other end.
    due = [id for id in case.ids if id in case.due]
    collects = Function("tests.governance.collectors:gc", [str(case.home), kind, 5, NOW])
    holds = Function("tests.governance.operations:hold", [kind, due[::-1], NOW])
    all_do(forks, [collects] * count(3, 12) + [holds], case.world())
    with case.workspace() as workspace:
        case.check_log(workspace)
        left = set(case.data(workspace))
        assert left >= case.ready | case.young
        marked = Counter(id for ids in workspace.logged("marked") for id in ids)
        assert marked == Counter(case.due | case.ready), "nothing is marked twice"
        held: set[str] = set()
        gone: set[str] = set()
        for entry in reversed(workspace.log.entries()):
            held.update(set(entry.ids) - gone if entry.action == "held" else ())
            gone.update(entry.ids if entry.action == "deleted" else ())
        assert not held & gone, "what was held in time is not deleted any more"
        assert held <= left
        workspace.gc(NOW)
        assert set(case.data(workspace)) == held | case.ready | case.young
    case.check_folder()
