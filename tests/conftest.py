"""What all tests share: goldens that can be renewed, opt-in groups of tests, real sessions where they are at hand."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import signal
import socket
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from popkit_retention.core.io import files, git
from tests.client import installs
from tests.examples import choose, examples
from tests.kit.forks import Forks
from tests.opencode import installs as opencode_installs
from tests.order import place
from tests.patience import HANG_S
from tests.pi import installs as pi_installs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.pi.installs import Program

ROOT = Path(__file__).resolve().parents[1]
SESSIONS = ROOT.parent / "shared" / "transcripts" / "dev-sessions.tar.xz"
OPT_IN = {"slow": "the counts that take long", "bench": "benchmarks and measurements of time"}
REAL_CLIENTS = ("tests/client/", "tests/opencode/", "tests/pi/", "tests/hosts/conformance/")
# Events of Python's audit: what starts another process.
STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.spawn", "os.system"}
ALONE = "it needs another process or the network: scripts/test without --fast runs it"
LONG_S = 1.0  # what --durations may list
NETWORK = (socket.AF_INET, socket.AF_INET6)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="write what comes out into the golden files")
    parser.addoption("--fast", action="store_true", help="only what needs no other process, server, client or browser")
    for marker, what in OPT_IN.items():
        parser.addoption("--" + marker, action="store_true", help=f"also run {what}")


def alone(event: str, arguments: tuple[object, ...]) -> None:
    """Skips the test, or the module, that is about to need another process or the network."""
    if event in STARTS or (event == "socket.__new__" and arguments[1] in NETWORK):
        raise pytest.skip.Exception(ALONE, allow_module_level=True)


def pytest_configure(config: pytest.Config) -> None:
    # In the background of a script Ctrl-C is ignored, also by whatever is started here, where tests end things by it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    choose(slow=config.getoption("--slow"), fast=config.getoption("--fast"))
    # A file of examples needs pytest alone.
    try:
        from hypothesis import HealthCheck, settings
    except ModuleNotFoundError:
        return
    # No example is too slow: that would be a time, and the machine may be busy.
    leave = [HealthCheck.too_slow, HealthCheck.data_too_large]
    settings.register_profile("any time", max_examples=examples(25, 100), deadline=None, suppress_health_check=leave)
    settings.load_profile("any time")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    fast = config.getoption("--fast")
    left_out = {marker: f"{what}: --{marker} runs them" for marker, what in OPT_IN.items() if not config.getoption("--" + marker)}
    files: dict[Path, int] = {}  # thousands of tests have a few hundred, and each worker looks at all
    for item in items:
        if item.path not in files:
            files[item.path] = place(item.nodeid)
        if item.nodeid.startswith(REAL_CLIENTS):
            item.add_marker("client")
        marked = {marker.name for marker in item.iter_markers()}
        # A browser's driver that may not start does not say so, but fails.
        if fast and ("server" in marked or "browser" in getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.skip(reason=ALONE))
        for marker, reason in left_out.items():
            if marker in marked:
                item.add_marker(pytest.mark.skip(reason=reason))
    items.sort(key=lambda item: files[item.path])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    from tests.handed_out import Scheduling

    return Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[object]:
    # What hands tests out starts the workers, and each of those has asked the system about itself by now.
    if session.config.getoption("--fast") and not session.config.getoption("numprocesses", None):
        sys.addaudithook(alone)
    gc.disable()  # nothing of the tests is garbage, and looking for some takes a third of the time
    try:
        return (yield)
    finally:
        gc.freeze()  # what is loaded stays
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test, and report its set-up and tear-down only where they failed, were skipped or took long: thousands that did not would each
    be sent by a worker and received by what hands tests out."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.when == "call" or not report.passed or report.duration > LONG_S:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.fixture(autouse=True)
def patience_of_a_process() -> Iterator[None]:
    """What a command or a hook waits for ends with its process; here the next test is another one."""
    yield
    files.patience.left_s = float("inf")


@pytest.fixture
def hook_patience() -> files.Patience:
    """A hook's patience with others, for as long as the test runs."""
    files.patience.left_s = files.HOOK_WAIT_S
    return files.patience


@pytest.fixture
def patience_with_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """git is waited for as long as it takes: the machine may be busy."""
    monkeypatch.setitem(git.ask_git.__kwdefaults__, "timeout_s", HANG_S)
    monkeypatch.setattr(git, "PATIENT_S", HANG_S)


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Commands, hooks and functions in forks of a process that has loaded them all."""
    forks = Forks()
    yield forks
    forks.close()


@pytest.fixture(scope="session")
def opencode_program() -> Path:
    """The real OpenCode, installed once; only a machine without npm skips."""
    if installs.npm() is None:
        pytest.skip("npm is not on PATH, so OpenCode cannot be installed")
    return opencode_installs.install()


@pytest.fixture(scope="session")
def pi_program() -> Program:
    """The real pi, installed once; only a machine without npm skips."""
    if installs.npm() is None:
        pytest.skip("npm is not on PATH, so pi cannot be installed")
    return pi_installs.install()


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """The plugin's folder."""
    return ROOT


@pytest.fixture
def count():
    """`count(few, many)`: how often a test repeats something; many with --slow, hardly ever with --fast."""
    return examples


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """`golden(path, text)` compares a text with a golden file; --update-goldens writes it instead."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--update-goldens"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no golden file {path}: --update-goldens writes it"
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture(scope="session")
def transcripts(pytestconfig: pytest.Config) -> Path:
    """The folder of real sessions that lie beside the repository, unpacked once; skips where there are none, and with --fast."""
    return unpacked(SESSIONS, pytestconfig)


@pytest.fixture(scope="session")
def transcripts_of_2026(pytestconfig: pytest.Config) -> Path:
    """The same of those with newer models."""
    return unpacked(SESSIONS.with_name("dev-sessions-2026.tar.xz"), pytestconfig)


def unpacked(sessions: Path, config: pytest.Config) -> Path:
    if config.getoption("--fast"):
        pytest.skip("it goes through real sessions: scripts/test without --fast runs it")
    if not sessions.exists():
        pytest.skip(f"no real sessions at {sessions}")
    stamp = sessions.stat()
    folder = ROOT / ".cache" / "transcripts" / f"{stamp.st_size}-{int(stamp.st_mtime)}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several workers want it at once
        if not folder.exists():
            partial = folder.with_name(f"partial-{os.getpid()}")
            with tarfile.open(sessions, "r:xz") as archive:
                checked = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
                archive.extractall(partial, **checked)  # noqa: S202  our own archive
            shutil.rmtree(folder, ignore_errors=True)
            partial.rename(folder)
    return folder
