"""Many payloads through a hook, each in a fork of one process that has loaded it: the guard is the hook's own, only the start is saved.

    python -S -m tests.hooks.forked FOLDER CWD

runs every FOLDER/*.payload in order through the handler of its `.hook` file, in the folder CWD, and writes what came of it beside it.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import resource
import signal
import subprocess
import sys
import traceback  # noqa: F401  a hook that fails needs it
from pathlib import Path

import hooks.utils
from hooks.utils.edges.hook_io import run
from hooks.utils.handlers import context_monitor, post_tool_use, pre_compact, pre_tool_use, session_end, session_start
from tests.hooks.processes import ROOT, Ran
from tests.patience import HANG_S

HANDLERS = {
    "post-tool-use": post_tool_use.handle,
    "context-monitor": context_monitor.handle,
    "session-start": session_start.handle,
    "pre-compact": pre_compact.handle,
    "session-end": session_end.handle,
    "pre-tool-use": pre_tool_use.handle,
}
# No payload may keep a hook at work for longer: seconds of processor time, of which a busy machine takes none away.
PATIENCE_CPU_S = 20


def run_all(work: Path, given: list[tuple[str, bytes]], env: dict[str, str], cwd: Path = ROOT) -> list[Ran]:
    """Runs (hook, payload) one after the other; `work` is an empty folder of the caller's, `cwd` the one that the hooks run in."""
    for number, (hook, payload) in enumerate(given):
        (work / f"{number:06d}.payload").write_bytes(payload)
        (work / f"{number:06d}.hook").write_text(hook)
    subprocess.run([sys.executable, "-S", "-m", "tests.hooks.forked", str(work), str(cwd)], cwd=ROOT, env=env, check=True)
    results = []
    for number in range(len(given)):
        stem = work / f"{number:06d}"
        code = int(stem.with_suffix(".code").read_text())
        results.append(Ran(code, stem.with_suffix(".out").read_bytes(), stem.with_suffix(".err").read_bytes()))
    return results


def _one(payload: Path, cwd: str) -> None:
    child = os.fork()
    if not child:
        new = os.O_WRONLY | os.O_CREAT
        for fd, suffix, flags in ((0, ".payload", os.O_RDONLY), (1, ".out", new), (2, ".err", new)):
            opened = os.open(payload.with_suffix(suffix), flags, 0o600)
            os.dup2(opened, fd)
            os.close(opened)
        os.chdir(cwd)
        signal.alarm(int(HANG_S))
        resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE_CPU_S,) * 2)
        hook = payload.with_suffix(".hook").read_text()
        run(HANDLERS[hook], hook)
    payload.with_suffix(".code").write_text(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))


def _load_all() -> None:
    """What a hook loads only where it needs it is loaded once, not in every fork."""
    for module in pkgutil.walk_packages(hooks.utils.__path__, "hooks.utils."):
        importlib.import_module(module.name)


if __name__ == "__main__":
    _load_all()
    for payload in sorted(Path(sys.argv[1]).glob("*.payload")):
        _one(payload, sys.argv[2])
