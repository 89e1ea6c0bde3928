"""The process whose forks do the work of forks.py: reads jobs, one JSON object a line, and answers each with one line."""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import resource
import signal
import sqlite3  # noqa: F401  loaded once, not in every fork
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import popkit_retention.cli
import popkit_retention.core
import popkit_retention.governance
import popkit_retention.lab
import popkit_retention.memory
import popkit_retention.usage
from popkit_retention.cli.main import main
from popkit_retention.core.handlers import run
from popkit_retention.core.io import files as locks
from tests.hooks.processes import HANDLERS
from tests.kit.forks import SYSTEM_CALLS
from tests.paths import ROOT
from tests.patience import HANG_S

OURS = (str(ROOT / "hooks"), str(ROOT / "power-mode"))
# Seconds of processor time: a busy machine takes none of it away.
PATIENCE_CPU_S = 60
# What changes something on disk, as Python names it. Between two of these there is nothing new to be interrupted in.
CHANGING = frozenset((
    "chmod", "close", "fchmod", "fsync", "ftruncate", "link", "lockf", "mkdir", "open", "rename", "replace", "unlink", "write",
    "commit", "connect", "execute", "executemany",
))  # fmt: skip


class Streams:
    """The files that a fork has for stdin, stdout and stderr."""

    def __init__(self, payload: str):
        self.files = [tempfile.TemporaryFile() for _ in range(3)]  # noqa: SIM115  closed by `read`
        self.files[0].write(payload.encode("latin-1"))
        self.files[0].seek(0)

    def take(self) -> None:
        for fd, file in enumerate(self.files):
            os.dup2(file.fileno(), fd)

    def read(self) -> list[str]:
        """What was printed, and closes them."""
        texts = []
        for file in self.files:
            file.seek(0)
            texts.append(file.read().decode("latin-1"))
            file.close()
        return texts[1:]


def _kill_before(last: int):
    seen = 0

    def count(frame, event, called):
        nonlocal seen
        if event != "c_call" or getattr(called, "__name__", "") not in CHANGING or not frame.f_code.co_filename.startswith(OURS):
            return
        if called.__module__ == "posix" or type(called.__self__).__module__ in ("sqlite3", "_io"):
            seen += 1
            if seen == last:
                os.kill(os.getpid(), signal.SIGKILL)

    return count


def _note_functions(into: str):
    """Note each function of ours that is called: tests/mutants asks which tests run it."""
    file, noted = os.open(into, os.O_WRONLY | os.O_APPEND | os.O_CREAT), set()

    def note(frame, event, called):
        code = frame.f_code
        if event == "call" and code not in noted and code.co_filename.startswith(OURS):
            noted.add(code)
            os.write(file, f"{code.co_filename}:{code.co_firstlineno}\n".encode())

    return note


def _limit(how: dict) -> None:
    os.chdir(how.get("cwd") or ROOT)
    if how.get("file_bytes") is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (how["file_bytes"], resource.RLIM_INFINITY))
    if how.get("call") or how.get("trace"):
        os.kill(os.getpid(), signal.SIGSTOP)  # until the tracer is there
    signal.alarm(int(HANG_S))
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE_CPU_S,) * 2)


def _work(work: dict, how: dict) -> None:
    """Do it, and exit."""
    if "argv" in work:
        os.execvpe(work["argv"][0], work["argv"], how["environ"])  # noqa: S606  in an environment that is given
    noted = os.environ.get("POPKIT_TEST_FUNCTIONS")
    os.environ.clear()
    os.environ.update(how["environ"])
    if noted:
        sys.setprofile(_note_functions(noted))
    if how.get("moment"):
        sys.setprofile(_kill_before(how["moment"]))
    if "hook" in work:
        run(HANDLERS[work["hook"]], work["hook"])
    if "function" in work:
        _function(work["function"])(*work["given"])
    code = main(work["words"], os.environ) if "words" in work else 0
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _function(name: str):
    module, _, name = name.partition(":")
    return getattr(importlib.import_module(module), name)


def _fork(work: dict, how: dict, streams: Streams, waits: int, begin: int) -> int:
    pid = os.fork()
    if not pid:
        try:
            streams.take()
            _limit(how)
            os.close(begin)
            os.read(waits, 1)
            _work(work, how)
        except BaseException:  # noqa: BLE001  a fork must not go on as its parent
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(70)
    return pid


def _traced(pid: int, call: tuple[str, int] | None, into: str) -> subprocess.Popen:
    """A tracer that notes the calls of a process, and kills it at one of them."""
    os.waitpid(pid, os.WUNTRACED)
    argv = ["strace", "-qq", "-s", "0", "-o", into, "-e", "trace=" + SYSTEM_CALLS, "-p", str(pid)]
    if call:
        argv += ["-e", f"inject={call[0]}:signal=SIGKILL:when={call[1]}"]
    tracer = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    status = Path(f"/proc/{pid}/status")
    while "TracerPid:\t0" in status.read_text() and tracer.poll() is None:
        time.sleep(0.001)
    os.kill(pid, signal.SIGCONT)
    return tracer


def _changing(trace: str) -> list[tuple[str, int]]:
    """The calls of a trace that change something on disk: not a file that is opened to be read, nor what is printed."""
    found, seen = [], Counter()
    for line in trace.splitlines():
        name, _, given = line.partition("(")
        if not name.isidentifier():
            continue  # a signal, or the end
        seen[name] += 1
        reads = name == "openat" and "O_CREAT" not in given and "O_TRUNC" not in given
        if not reads and not given.startswith(("1,", "2,")):
            found.append((name, seen[name]))
    return found


def _start(job: dict) -> int:
    """The id of a process that does the work beside what is asked next."""
    if "function" in job:
        _function(job["function"])
    printed = [os.open(path, os.O_WRONLY) for path in job["start"]]
    pid = os.fork()
    if not pid:
        try:
            for fd, place in zip((os.open(os.devnull, os.O_RDONLY), *printed), range(3)):
                os.dup2(fd, place)
            os.closerange(3, 1024)
            os.chdir(job["cwd"] or ROOT)
            _wait(*_USUAL)
            gc.disable()  # as `popkit` does
            _work(job, job)
        except SystemExit as end:
            os._exit(end.code or 0)
        except BaseException:  # noqa: BLE001  a fork must not go on as its parent
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(70)
    for fd in printed:
        os.close(fd)
    return pid


def _ended(pid: int) -> int | None:
    """The exit code of a process that was started; None while it runs."""
    done, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None


def _all(job: dict) -> dict:
    works = job["works"]
    for work in works:
        if "function" in work:
            _function(work["function"])  # loaded here, it asks nothing of the system in the fork
    streams = [Streams(work["payload"]) for work in works]
    waits, begin = os.pipe()
    pids = [_fork(work, job, given, waits, begin) for work, given in zip(works, streams)]
    trace = tempfile.NamedTemporaryFile("r") if job.get("call") or job.get("trace") else None  # noqa: SIM115  closed below
    tracers = [_traced(pid, job.get("call"), trace.name) for pid in pids if trace]
    os.close(waits)
    os.close(begin)  # the last of its kind is closed once every fork is ready: then all of them go on
    if job.get("kill_after_s") is not None:
        time.sleep(job["kill_after_s"])
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    for tracer in tracers:
        tracer.wait()
    answer = {"ended": [(code, *given.read()) for code, given in zip(codes, streams)]}
    if trace:
        with trace:
            answer["calls"] = _changing(trace.read())
    return answer


# With all that commands load only where they need it: a fork that did so would take as long for that as for its work.
LOADED = (
    popkit_retention.core, popkit_retention.cli, popkit_retention.governance, popkit_retention.lab, popkit_retention.memory,
    popkit_retention.usage,
)  # fmt: skip


def _load_all() -> None:
    for package in LOADED:
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not module.name.rpartition(".")[2].startswith("tile"):  # only the page's server loads these
                importlib.import_module(module.name)


_USUAL = locks.Lock.__init__.__defaults__, locks.Patience.next_s.__defaults__


def _wait(lock_s: tuple, next_s: tuple) -> None:
    """Wait so long for others."""
    locks.Lock.__init__.__defaults__, locks.Patience.next_s.__defaults__ = lock_s, next_s


def _answer(job: dict) -> object:
    if "start" in job:
        return _start(job)
    return _ended(job["ended"]) if "ended" in job else _all(job)


if __name__ == "__main__":
    # Commands wait for each other as long as it takes: the machine may be busy. A hook's patience is bounded all the same.
    _wait((HANG_S,), (HANG_S,))
    _load_all()
    gc.freeze()  # what a fork does not touch is not copied
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), flush=True)
