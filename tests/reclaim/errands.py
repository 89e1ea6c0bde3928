"""Commands and hooks, each in a fork of one process that has loaded them, where they may be limited or killed.

    PYTHONPATH=.:power-mode python -S -m tests.reclaim.errands

reads jobs, one JSON object a line, and answers each with one line.
"""

from __future__ import annotations

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
from pathlib import Path

import hooks.utils
import popkit_retention.cli
import popkit_retention.governance
import popkit_retention.lab
from hooks.utils.edges import files as locks
from hooks.utils.edges.hook_io import run
from popkit_retention.cli.main import main
from tests.paths import PYTHONPATH, ROOT
from tests.patience import HANG_S

OURS = (str(ROOT / "hooks"), str(ROOT / "power-mode"))
# Seconds of processor time: a busy machine takes none of it away.
PATIENCE_CPU_S = 60
# What changes something on disk, as Python names it. Between two of these there is nothing new to be interrupted in.
CHANGING = frozenset((
    "chmod", "close", "fchmod", "fsync", "ftruncate", "link", "lockf", "mkdir", "open", "rename", "replace", "unlink", "write",
    "commit", "connect", "execute", "executemany",
))  # fmt: skip
# The same, as the system names it: SQLite's own calls too. A question mark lets a machine have no call of that name.
SYSTEM_CALLS = (
    "write,pwrite64,writev,fsync,fdatasync,ftruncate,?truncate,?rename,?renameat,renameat2,?link,linkat,?unlink,unlinkat,?mkdir,mkdirat,"
    "?rmdir,?chmod,fchmod,fchmodat,fchown,?symlink,symlinkat,fallocate,?sendfile,copy_file_range,openat"
)


class Done:
    """How a job ended: `code` (-9: killed), what it printed, and how many moments there were to be killed at."""

    def __init__(self, code: int, out: str, err: str, moments: int = 0):
        self.code, self.out, self.err, self.moments = code, out, err, moments

    def __repr__(self) -> str:
        return f"exit {self.code}\n{self.out}{self.err}"

    @property
    def json(self):
        return json.loads(self.out)


class Errands:
    """The process that runs them."""

    def __init__(self):
        argv = [sys.executable, "-S", "-m", "tests.reclaim.errands"]
        env = {**os.environ, "PYTHONPATH": PYTHONPATH}
        self.process = subprocess.Popen(argv, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, words: list[str], environ: dict[str, str], **how) -> Done:
        """`popkit WORDS`. `cwd` · `moment`: killed before the Nth call that changes something · `call`: killed at the Nth system call that
        does · `file_bytes`: no file may become larger · `kill_after_s`."""
        return self._ask({"words": words, "environ": environ, **how})

    def call(self, function: str, given: list, environ: dict[str, str], **how) -> Done:
        """A function, "module:name", with what it is given; how it may be ended, as for `run`."""
        return self._ask({"function": function, "given": given, "environ": environ, **how})

    def run_hook(self, name: str, payload: object, environ: dict[str, str], **how) -> Done:
        """The hook of this name."""
        return self._ask({"hook": name, "payload": json.dumps(payload), "environ": environ, **how})

    def _ask(self, job: dict) -> Done:
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        return Done(**json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        self.process.communicate()
        assert self.process.returncode == 0


# --- the process ------------------------------------------------------------------------------------------------------------------


def _kill_before(last: int, note: int):
    seen = 0

    def count(frame, event, called):
        nonlocal seen
        if event != "c_call" or getattr(called, "__name__", "") not in CHANGING or not frame.f_code.co_filename.startswith(OURS):
            return
        if called.__module__ == "posix" or type(called.__self__).__module__ in ("sqlite3", "_io"):
            seen += 1
            os.pwrite(note, b"%8d" % seen, 0)
            if seen == last:
                os.kill(os.getpid(), signal.SIGKILL)

    return count


def _work(job: dict, streams: list[int], note: int) -> None:
    for fd, opened in enumerate(streams):
        os.dup2(opened, fd)
    os.environ.clear()
    os.environ.update(job["environ"])
    if job.get("cwd"):
        os.chdir(job["cwd"])
    if job.get("file_bytes") is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["file_bytes"],) * 2)
    if job.get("call"):
        os.kill(os.getpid(), signal.SIGSTOP)  # until the tracer is there
    signal.alarm(int(HANG_S))
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE_CPU_S,) * 2)
    if job.get("moment"):
        sys.setprofile(_kill_before(job["moment"], note))
    if "words" in job:
        code = main(job["words"], os.environ)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    if "function" in job:
        module, _, name = job["function"].partition(":")
        getattr(importlib.import_module(module), name)(*job["given"])
        os._exit(0)
    name = job["hook"].replace("-", "_")
    run(importlib.import_module("hooks.utils.handlers." + name).handle, job["hook"])


def _traced(pid: int, call: int) -> subprocess.Popen:
    """A tracer that kills the process at a system call."""
    os.waitpid(pid, os.WUNTRACED)
    inject = f"inject={SYSTEM_CALLS}:signal=SIGKILL:when={call}"
    argv = ["strace", "-qq", "-o", os.devnull, "-e", "trace=" + SYSTEM_CALLS, "-e", inject, "-p", str(pid)]
    tracer = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    status = Path(f"/proc/{pid}/status")
    while "TracerPid:\t0" in status.read_text() and tracer.poll() is None:
        time.sleep(0.001)
    os.kill(pid, signal.SIGCONT)
    return tracer


def _one(job: dict) -> dict:
    files = [tempfile.TemporaryFile() for _ in range(4)]  # noqa: SIM115  closed below
    files[0].write(job.get("payload", "").encode())
    files[0].seek(0)
    fds = [file.fileno() for file in files]
    pid = os.fork()
    if not pid:
        try:
            _work(job, fds[:3], fds[3])
        except BaseException:  # noqa: BLE001  a fork must not go on as its parent
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(70)
    tracer = _traced(pid, job["call"]) if job.get("call") else None
    if job.get("kill_after_s") is not None:
        time.sleep(job["kill_after_s"])
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if tracer:
        tracer.wait()
    texts = []
    for file in files[1:3]:
        file.seek(0)
        texts.append(file.read().decode())
    moments = int(os.pread(fds[3], 8, 0) or 0)
    for file in files:
        file.close()
    return {"code": code, "out": texts[0], "err": texts[1], "moments": moments}


def _load_all() -> None:
    for package in (hooks.utils, popkit_retention.cli, popkit_retention.governance, popkit_retention.lab):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if module.name != "popkit_retention.lab.report":  # plotly is not there under -S
                importlib.import_module(module.name)


def _wait_long() -> None:
    """Commands wait for each other as long as it takes: the machine may be busy. A hook's patience is bounded all the same."""
    locks.Lock.__init__.__defaults__ = locks.Patience.next_s.__defaults__ = (HANG_S,)


if __name__ == "__main__":
    _wait_long()
    _load_all()
    for line in sys.stdin:
        print(json.dumps(_one(json.loads(line))), flush=True)
