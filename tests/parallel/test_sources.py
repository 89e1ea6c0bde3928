"""Which transcripts are found in files, folders and at addresses, and how one from afar comes to hand; and the results of a function over
them: in their order, each once, whatever becomes of the processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.parallel.results import Workplace, results
from popkit_retention.parallel.sources import Source, SourceUnavailable, at_hand, find, read_list
from tests.parallel.tasks import length, length_unless_killed, lies_at
from tests.paths import PYTHONPATH
from tests.patience import HANG_S, until

fsspec = pytest.importorskip("fsspec")
ALONE = Workplace(1)
BRANCH = "shop/5e55/subagents/agent-1.jsonl"


def found_in(*paths: str) -> tuple[list[tuple[str, int]], list[tuple[str, str]]]:
    skipped: list[tuple[str, str]] = []
    return [(source.address, source.size) for source in find(paths, lambda *one: skipped.append(one))], skipped


@pytest.fixture
def memory() -> str:
    """An address with two sessions, an empty one and a note."""
    store = fsspec.filesystem("memory")
    files = {BRANCH: b"x" * 30, "shop/one.jsonl": b"x" * 50, "shop/empty.jsonl": b"", "shop/notes.txt": b"no session"}
    for name, content in files.items():
        store.pipe(f"/company/{name}", content)
    yield "memory://company"
    store.rm("/company", recursive=True)


def test_an_address_is_looked_through_as_a_folder_is_the_biggest_first(memory: str) -> None:
    inside, skipped = found_in(memory)
    assert inside == [("memory:///company/shop/one.jsonl", 50), (f"memory:///company/{BRANCH}", 30)]
    assert skipped == [("memory:///company/shop/empty.jsonl", "empty")]


def test_a_session_can_be_named_by_its_address_and_counts_once(memory: str) -> None:
    assert found_in(f"{memory}/shop/one.jsonl", memory)[0] == found_in(memory)[0]


def test_a_file_address_finds_what_its_folder_finds(tmp_path: Path) -> None:
    for name in ("a/one.jsonl", "b/two.jsonl", "b/empty.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("" if "empty" in name else name)
    inside, skipped = found_in(f"file://{tmp_path}")
    assert [(address.removeprefix("file://"), size) for address, size in inside] == found_in(str(tmp_path))[0]
    assert [reason for _, reason in skipped] == ["empty"]


def test_an_address_where_nothing_is_has_a_reason(memory: str) -> None:
    assert found_in("memory://nowhere") == ([], [("memory://nowhere", "nothing is there")])


def test_an_address_that_no_package_knows_says_so() -> None:
    skipped = found_in("nosuchprotocol://x")[1]
    assert "nosuchprotocol" in skipped[0][1]


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec.register_implementation("popkittest", "no_such_package.Store", errtxt="install no_such_package", clobber=True)
    with pytest.raises(SourceUnavailable, match=r"popkittest://x: install no_such_package. Install it beside PopKit, and on the workers"):
        found_in("popkittest://x")


def test_a_copy_keeps_its_suffix_is_private_to_its_user_and_is_gone_afterwards(memory: str) -> None:
    ((_, about, _),) = results(lies_at, find([f"{memory}/{BRANCH}"], print), ALONE)
    assert about is not None
    assert about[:3] == [BRANCH.split("/"), "0o600", "0o700"]
    assert not Path(about[3]).exists()


@given(st.text(alphabet="a./\\\0~é:", max_size=60))
def test_no_key_leads_out_of_the_folder_of_copies(tmp_path_factory: pytest.TempPathFactory, key: str) -> None:
    store = fsspec.filesystem("memory")
    source = Source("memory://x", 1, _Giving(store), key)
    scratch = tmp_path_factory.getbasetemp()
    with at_hand(source, str(scratch)) as path:
        assert Path(os.path.realpath(path)).is_relative_to(os.path.realpath(scratch))
        assert Path(path).read_bytes() == b"given"


class _Giving:
    """A store that has something under every key."""

    def __init__(self, store: object) -> None:
        self.store = fsspec.filesystem("memory")
        self.store.pipe("/given", b"given")

    def open(self, key: str, mode: str) -> object:
        return self.store.open("/given", mode)


def test_a_list_has_a_path_on_each_line(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("a.jsonl\n\n  s3://b/c \n")
    assert read_list(str(tmp_path / "list")) == ["a.jsonl", "s3://b/c"]


def test_sessions_are_read_from_an_s3_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("s3fs")
    server_of = pytest.importorskip("moto.server").ThreadedMotoServer
    for name, value in {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    server = server_of(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        store = fsspec.filesystem("s3")
        store.mkdir("company")
        store.pipe("company/shop/one.jsonl", b"x" * 50)
        store.pipe(f"company/{BRANCH}", b"x" * 30)
        assert found_in("s3://company")[0] == [("s3://company/shop/one.jsonl", 50), (f"s3://company/{BRANCH}", 30)]
        read = results(length, find(["s3://company/"], print), Workplace(2))
        assert [(source.address, value) for source, value, _ in read] == found_in("s3://company")[0]
        assert found_in("s3://nowhere")[1][0][1].startswith("cannot be read: ")
    finally:
        server.stop()


# --- results -----------------------------------------------------------------------------------------------------------------------------


def written(folder: Path, *names: str) -> list[Source]:
    """Files of different sizes."""
    for number, name in enumerate(names):
        (folder / f"{name}.jsonl").write_bytes(b"x" * (10 + 7 * number % 50))
    return find([str(folder)], print)


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_they_come_in_the_order_of_the_sessions_however_many_processes_there_are(tmp_path: Path, jobs: int) -> None:
    sources = written(tmp_path, *(f"session-{number}" for number in range(70)))
    assert list(results(length, sources, Workplace(jobs))) == [(source, source.size, "") for source in sources]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_broken_session_has_a_reason_and_does_not_stop_the_others(tmp_path: Path, jobs: int) -> None:
    sources = written(tmp_path, "one", "skipped", "broken", "two", "gone")
    (tmp_path / "gone.jsonl").unlink()
    reasons = {Path(source.address).stem: (value, reason) for source, value, reason in results(length, sources, Workplace(jobs))}
    assert {name: reason for name, (value, reason) in reasons.items() if value is None} == {
        "skipped": "of no use",
        "broken": "could not be read: KeyError 'what nobody foresaw'",
        "gone": "cannot be read: No such file or directory",
    }
    assert len(reasons) == 5


def test_a_session_whose_process_dies_is_tried_once_more_and_then_named(tmp_path: Path) -> None:
    names = [f"session-{number}" for number in range(12)]
    sources = written(tmp_path, "once", "deadly", *names)
    reasons = {Path(source.address).stem: reason for source, _, reason in results(length_unless_killed, sources, Workplace(2))}
    assert reasons == {"once": "", "deadly": "the process that read it was ended, twice", **dict.fromkeys(names, "")}


def test_ctrl_c_ends_all_processes_at_once_and_none_of_them_says_a_word(tmp_path: Path) -> None:
    written(tmp_path, "quick", "slow")
    program = f"""if True:
    from popkit_retention.parallel.results import Workplace, results
    from popkit_retention.parallel.sources import find
    from tests.parallel.tasks import length_if_quick
    try:
        list(results(length_if_quick, find([{str(tmp_path)!r}], print), Workplace(2)))
    except KeyboardInterrupt:
        print("ended")
    """
    environ = {**os.environ, "PYTHONPATH": PYTHONPATH}
    command = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ, start_new_session=True
    )
    until(lambda: len(list(tmp_path.glob("*.read"))) == 2, "both sessions are read, and one process is idle again")
    os.killpg(command.pid, signal.SIGINT)
    assert command.communicate(timeout=HANG_S) == ("ended\n", "")


def test_one_process_is_used_where_there_is_little_to_do_and_nobody_asked_for_more() -> None:
    little, much = [Source("a", 10)], [Source("a", 10), Source("b", 10)]
    assert Workplace().worth(little, 15) == Workplace(1)
    assert Workplace().worth(much, 15) == Workplace()
    assert Workplace(4).worth(little, 15) == Workplace(4)
    assert Workplace(scheduler="tcp://x").worth(little, 15) == Workplace(scheduler="tcp://x")
