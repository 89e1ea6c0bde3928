"""The sockets of helpers: which is whose, what is removed with them, and what is asked of them."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.core.state import asking, sockets
from tests.patience import HANG_S

ID = "11111111-2222-3333-4444-555555555555"
GUEST = "ses_0123456789abcdefABCDEFGH"
DEAD = 2**22 + 1  # more than any process has

# The longest path of a socket that clients accept.
PATH_BYTES = 100


class Home:
    """A short folder of ours, with sockets at which nobody need listen."""

    def __init__(self, folder: Path):
        self.folder, self.run = folder, folder / "run"
        self.environ = {"POPKIT_HOME": str(folder)}
        self.open: list[socket.socket] = []

    def socket(self, name: str, at: float = 0.0) -> Path:
        self.run.mkdir(exist_ok=True)
        path = self.run / name
        opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        opened.bind(str(path))
        self.open.append(opened)
        os.utime(path, (at, at))
        return path

    def names(self) -> list[str]:
        return sorted(path.name for path in self.run.iterdir())

    def answers(self, path: Path, answer: bytes, pauses: float = 0.0) -> list[bytes]:
        """Answer one question at a path in a thread; return the list that the question comes into."""
        opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        opened.bind(str(path))
        opened.listen()
        self.open.append(opened)
        asked: list[bytes] = []

        def serve() -> None:
            there, _ = opened.accept()
            with there, contextlib.suppress(BrokenPipeError):  # nobody waits for it any more
                asked.append(there.recv(1 << 20))
                for at in range(0, len(answer), 100_000):
                    there.sendall(answer[at : at + 100_000])
                    time.sleep(pauses)

        threading.Thread(target=serve, daemon=True).start()
        return asked


@pytest.fixture
def ours(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    folder = Path(os.path.realpath(tmp_path_factory.mktemp("h")))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    (folder / "h").mkdir()
    home = Home(folder / "h")
    yield home
    for opened in home.open:
        opened.close()


def test_a_session_s_sockets_begin_with_eight_characters_of_its_id() -> None:
    assert sockets.stem(ID) == sockets.stem_of(ID) == "11111111"
    assert sockets.stem(GUEST) == "ABCDEFGH", "the id of a guest begins with a time"
    assert len(sockets.stem("a/../b" * 20)) == 8


def test_a_session_s_sockets_are_of_processes_that_live_the_newest_first(ours: Home) -> None:
    ours.socket(f"11111111-{os.getpid()}.sock", 5.0)
    ours.socket(f"11111111-{os.getppid()}.sock", 9.0)
    ours.socket(f"11111111-{DEAD}.sock", 7.0)
    ours.socket(f"22222222-{os.getpid()}.sock")
    for name in ("11111111-x.sock", "11111111-².sock", "11111111-0.sock", f"11111111-{os.getpid()}.txt", "11111111.sock"):
        (ours.run / name).touch()
    found = sockets.of_session(str(ours.folder), ID)
    assert [Path(path).name for path in found] == [f"11111111-{pid}.sock" for pid in (os.getppid(), os.getpid())]
    assert sockets.running(str(ours.folder)) == {"11111111", "22222222"}
    assert all(stored.owns("", f"run/{Path(path).name}") for path in found for stored in sockets.STORAGE)
    assert (sockets.of_session(str(ours.folder), GUEST), sockets.running(str(ours.folder / "none"))) == ([], set())


def test_a_sweep_removes_the_sockets_of_processes_that_are_gone_and_nothing_else(ours: Home) -> None:
    dead, alive = ours.socket(f"11111111-{DEAD}.sock"), ours.socket(f"11111111-{os.getpid()}.sock")
    plain = ours.run / f"22222222-{DEAD}.sock"
    plain.write_text("a file of somebody's")
    sockets.sweep(str(ours.folder))
    assert (dead.exists(), alive.exists(), plain.exists()) == (False, True, True)
    sockets.sweep(str(ours.folder / "none"))


def test_the_folder_goes_with_the_last_socket(ours: Home) -> None:
    first, second = ours.socket("a-1.sock"), ours.socket("a-2.sock")
    sockets.remove(str(first))
    assert ours.names() == ["a-2.sock"]
    sockets.remove(str(first))
    sockets.remove(str(second))
    assert not ours.run.exists()


def test_a_free_path_is_private_and_takes_the_place_of_what_was_left(ours: Home) -> None:
    own, dead = ours.socket(f"11111111-{os.getpid()}.sock"), ours.socket(f"33333333-{DEAD}.sock")
    path = sockets.free_path(ours.environ, ID)
    assert path == str(own)
    assert (own.exists(), dead.exists(), ours.run.stat().st_mode & 0o777) == (False, False, 0o700)
    ours.socket(own.name)
    sockets.close(ours.environ, ID, path)
    assert not ours.run.exists()


def test_no_socket_is_made_through_a_link_in_the_place_of_our_folder(ours: Home) -> None:
    (ours.folder / "elsewhere").mkdir()
    ours.run.symlink_to(ours.folder / "elsewhere")
    with pytest.raises(OSError, match="link"):
        sockets.free_path(ours.environ, ID)


def test_where_the_path_is_too_long_a_link_of_the_usual_name_leads_to_the_socket(ours: Home) -> None:
    usual = len(f"/run/11111111-{os.getpid()}.sock")
    for length, is_link in ((PATH_BYTES, False), (PATH_BYTES + 1, True)):
        folder = ours.folder / ("x" * (length - usual - len(str(ours.folder)) - 1))
        environ = {"POPKIT_HOME": str(folder)}
        path = sockets.free_path(environ, ID)
        named = folder / "run" / f"11111111-{os.getpid()}.sock"
        assert (named.is_symlink(), path != str(named)) == (is_link, is_link)
        if is_link:
            assert (Path(path).name, Path(path).parent.name[:7], Path(path).parent.parent) == ("s", "popkit-", ours.folder.parent)
            opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            ours.open.append(opened)
            opened.bind(path)
            assert sockets.of_session(str(folder), ID) == [path]
            again = sockets.free_path(environ, ID)
            assert not Path(path).parent.exists(), "the one before goes with its folder"
            sockets.close(environ, ID, again)
            assert (named.is_symlink(), Path(again).parent.exists(), named.parent.exists()) == (False, False, False)


@pytest.mark.parametrize("target", ["other/s", "popkit-x/other", "nowhere"])
def test_a_link_that_is_none_of_ours_is_removed_and_what_it_leads_to_stays(ours: Home, target: str) -> None:
    ours.run.mkdir()
    there = ours.folder / target
    there.parent.mkdir(exist_ok=True)
    there.write_text("precious")
    link = ours.run / f"11111111-{os.getpid()}.sock"
    link.symlink_to(there)
    assert sockets.of_session(str(ours.folder), ID) == [str(link)]
    sockets.remove(str(link))
    assert (link.is_symlink(), there.read_text()) == (False, "precious")


def test_a_file_in_the_place_of_a_linked_socket_stays(ours: Home) -> None:
    ours.run.mkdir()
    (ours.folder / "popkit-x").mkdir()
    (ours.folder / "popkit-x" / "s").write_text("precious")
    link = ours.run / f"11111111-{DEAD}.sock"
    link.symlink_to(ours.folder / "popkit-x" / "s")
    sockets.sweep(str(ours.folder))
    assert (link.is_symlink(), (ours.folder / "popkit-x" / "s").read_text()) == (False, "precious")


# --- asking ----------------------------------------------------------------------------------------------------------------------------


def test_a_helper_is_asked_in_http_and_its_whole_answer_is_returned(ours: Home) -> None:
    body = b"x" * 300_000
    path = ours.folder / "s"
    asked = ours.answers(path, b"HTTP/1.0 200 OK\r\nA: b\r\n\r\n" + body + b"\r\n\r\nend")
    assert asking.ask(str(path), "/cleared", b'{"a":1}', 10.0) == body + b"\r\n\r\nend"
    assert asked == [b'POST /cleared HTTP/1.0\r\nContent-Length: 7\r\n\r\n{"a":1}']


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.0 404 Not Found\r\n\r\n", b"HTTP/1.0\r\n\r\n200", b"200 OK\r\n\r\n", b"HTTP/1.0 2000 \r\n\r\n"]
)
def test_any_other_status_is_no_answer(ours: Home, answer: bytes) -> None:
    ours.answers(ours.folder / "s", answer)
    with pytest.raises(OSError, match="no answer") as raised:
        asking.ask(str(ours.folder / "s"), "/", b"", 10.0)
    assert raised.value.errno == 71


def test_nobody_waits_longer_for_an_answer_than_he_says(ours: Home) -> None:
    ours.answers(ours.folder / "s", b"HTTP/1.0 200 OK\r\n\r\nbeginning", pauses=2 * HANG_S)
    began = time.monotonic()
    with pytest.raises(OSError, match="timed out"):
        asking.ask(str(ours.folder / "s"), "/", b"", 0.05)
    assert time.monotonic() - began < HANG_S
    ours.answers(ours.folder / "slow", b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 300_000, pauses=0.04)
    with pytest.raises(OSError, match="timed out"):
        asking.ask(str(ours.folder / "slow"), "/", b"", 0.06)
    ours.answers(ours.folder / "late", b"HTTP/1.0 200 OK\r\n\r\n", pauses=0.04)
    with pytest.raises(OSError, match="timed out"):
        asking.ask(str(ours.folder / "late"), "/", b"", 0.0)


def test_where_nobody_listens_nothing_is_taken(ours: Home) -> None:
    silent = ours.socket(f"11111111-{os.getpid()}.sock")
    assert (asking.takes(str(silent)), asking.takes(str(ours.folder / "none"))) == (False, False)
    assert not sockets.listens(str(ours.folder), ID)
    with pytest.raises(OSError):  # noqa: PT011  which one, the system says
        asking.ask(str(silent), "/", b"", 1.0)
    ours.open[0].listen()
    assert asking.takes(str(silent))
    assert sockets.listens(str(ours.folder), ID)
    assert not sockets.listens(str(ours.folder), GUEST)


def test_a_helper_that_accepts_nobody_holds_nobody_up(ours: Home) -> None:
    full = ours.socket(f"11111111-{os.getpid()}.sock")
    ours.open[0].listen(0)
    for _ in range(2):
        waiting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        waiting.setblocking(False)
        with contextlib.suppress(OSError):
            waiting.connect(str(full))
        ours.open.append(waiting)
    assert not asking.takes(str(full))
    with pytest.raises(OSError):  # noqa: PT011  which one, the system says
        asking.ask(str(full), "/", b"", 0.05)


def test_all_helpers_are_asked_to_end_and_their_sockets_go_in_any_case(ours: Home) -> None:
    ours.run.mkdir()
    alive = ours.run / f"11111111-{os.getpid()}.sock"
    asked = ours.answers(alive, b"HTTP/1.0 500 No\r\n\r\n")
    ours.socket(f"22222222-{DEAD}.sock")
    sockets.end_all(str(ours.folder))
    assert not ours.run.exists()
    assert asked[0].startswith(b"POST /end HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}")


def test_a_helper_that_ends_is_waited_for_until_its_socket_is_gone(ours: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "_LIMIT_S", HANG_S)
    ours.run.mkdir()
    path = ours.run / f"11111111-{os.getpid()}.sock"
    ours.answers(path, b"HTTP/1.0 200 OK\r\n\r\n{}")
    left: list[bool] = []

    def go() -> None:
        time.sleep(0.05)
        left.append(path.exists())
        path.unlink(missing_ok=True)

    ending = threading.Thread(target=go)
    ending.start()
    sockets.end_all(str(ours.folder))
    ending.join()
    assert left == [True]
