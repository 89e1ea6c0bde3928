"""Work in forks of one process that has loaded everything, where it may be limited, killed, or begun together with others.

    forks.run(Command(["context", "clear"]), environ)
    forks.run(Hook("post-tool-use", payload), environ, file_bytes=4096)
    forks.run_together([Function("tests.governance.operations:configure", ["rag", {}])] * 4, environ)
    forks.start(Command(["serve", …]), environ)    # goes on beside the test

The fixture `forks` is in tests/conftest.py, the process itself in forking.py.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, Union

from tests.paths import PYTHONPATH, ROOT
from tests.patience import HANG_S, pause

# What may change something on disk, as the system names it: SQLite's own calls too. `?`: a machine may have no such call.
SYSTEM_CALLS = (
    "write,pwrite64,writev,ftruncate,?truncate,?rename,?renameat,renameat2,?link,linkat,?unlink,unlinkat,?mkdir,mkdirat,?rmdir,?chmod,"
    "fchmod,fchmodat,fchown,?symlink,symlinkat,fallocate,?sendfile,copy_file_range,openat"
)


class Command(NamedTuple):
    """`popkit WORDS`, and what it reads."""

    words: list[str]
    payload: object = b""


class Function(NamedTuple):
    """A function, "module:name", and its arguments (JSON)."""

    function: str
    given: list


class Hook(NamedTuple):
    """The hook of this name, and its payload: an object, or bytes."""

    hook: str
    payload: object


class Program(NamedTuple):
    """Another program, and what it reads."""

    argv: list[str]
    payload: object = b""


Work = Union[Command, Function, Hook, Program]


def given(work: Work) -> dict:
    """Work as the process is told of it."""
    return {**work._asdict(), "payload": data_of(getattr(work, "payload", b"")).decode("latin-1")}


class Done:
    """How a process ended: `code` (-9: killed), and what it printed."""

    def __init__(self, code: int, stdout: bytes, stderr: bytes):
        self.code, self.stdout, self.stderr = code, stdout, stderr

    def __repr__(self) -> str:
        return f"exit {self.code}, stdout {self.stdout[:300]!r}, stderr {self.stderr[-600:]!r}"

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL

    @property
    def out(self) -> str:
        return self.stdout.decode()

    @property
    def err(self) -> str:
        return self.stderr.decode()

    @property
    def json(self):
        return json.loads(self.stdout)

    @property
    def failed_open(self) -> bool:
        """Exit 0, nothing on stderr, and on stdout nothing or one whole JSON object."""
        if self.code != 0 or self.stderr:
            return False
        return not self.stdout or isinstance(self.json, dict)

    @property
    def in_words(self) -> bool:
        """Exit 0, nothing on stderr, and on stdout nothing or text that nobody takes for JSON: what PreCompact may say."""
        return self.code == 0 and not self.stderr and self.stdout[:1] not in (b"{", b"[")

    @property
    def silent(self) -> bool:
        return self.failed_open and not self.stdout


def data_of(payload: object) -> bytes:
    """What a process reads: bytes and text as they are, an object as JSON."""
    if isinstance(payload, bytes):
        return payload
    return (payload if isinstance(payload, str) else json.dumps(payload)).encode()


class Running:
    """A fork that goes on beside the test, with what a test asks of a `subprocess.Popen`."""

    def __init__(self, forks: Forks, work: Work, environ: dict[str, str], cwd: str):
        self._forks = forks
        self.returncode: int | None = None
        with tempfile.TemporaryDirectory() as folder:
            paths = [f"{folder}/stdout", f"{folder}/stderr"]
            for path in paths:
                os.mkfifo(path)
            # Without waiting for the other end, which the fork opens.
            self.stdout, self.stderr = (os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") for path in paths)
            self.pid: int = forks.ask({**given(work), "environ": environ, "cwd": cwd, "start": paths})
        for pipe in (self.stdout, self.stderr):
            os.set_blocking(pipe.fileno(), True)

    def poll(self) -> int | None:
        """Its exit code; None while it runs."""
        if self.returncode is None:
            self.returncode = self._forks.ask({"ended": self.pid})
        return self.returncode

    def wait(self, timeout: float = HANG_S) -> int:
        began = time.monotonic()
        while self.poll() is None:
            if time.monotonic() > began + timeout:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            pause(began)
        return self.returncode

    def send_signal(self, signal: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Forks:
    """The process whose forks do the work."""

    def __init__(self, installed: bool = False):
        """`installed`: with what is installed beside Python, which hooks and commands do without."""
        self._asking = threading.Lock()
        argv = [sys.executable, *([] if installed else ["-S"]), "-m", "tests.kit.forking"]
        env = {**os.environ, "PYTHONPATH": PYTHONPATH}
        self.process = subprocess.Popen(argv, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, work: Work, environ: dict[str, str], **how) -> Done:
        """Do work in an environment that holds nothing else. `cwd` · `moment`: killed before the Nth call that changes something, of those
        that our Python makes · `call`: killed at a system call, its name and how many of that name there were with it · `kill_after_s` ·
        `file_bytes`: no file may become larger."""
        return self.run_together([work], environ, **how)[0]

    def calls_of(self, work: Work, environ: dict[str, str], **how) -> list[tuple[str, int]]:
        """The system calls by which work changes something on disk, in order: name, and how many of that name there were with it."""
        answer = self._ask([work], environ, {**how, "trace": True})
        assert answer["ended"][0][0] == 0, answer
        return [(name, number) for name, number in answer["calls"]]

    def run_together(self, works: Sequence[Work], environ: dict[str, str], **how) -> list[Done]:
        """Do several things at once: none begins before all are ready."""
        ended = self._ask(works, environ, how)["ended"]
        return [Done(code, out.encode("latin-1"), err.encode("latin-1")) for code, out, err in ended]

    def start(self, work: Work, environ: dict[str, str], cwd: str = "") -> Running:
        """Begin work that goes on beside the test, in an environment that holds nothing else. It waits for others as long as it would for
        anybody, and has nothing to read."""
        return Running(self, work, environ, cwd)

    def _ask(self, works: Sequence[Work], environ: dict[str, str], how: dict) -> dict:
        return self.ask({"works": [given(work) for work in works], "environ": environ, **how})

    def ask(self, job: dict):
        """What the process answers to a job."""
        with self._asking:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()
        assert self.process.returncode == 0
