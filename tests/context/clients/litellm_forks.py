"""LiteLLM's proxy, loaded once: reads jobs, one JSON object a line, and answers each with one line.

    {"words": […], "environ": {…}, "cwd": …, "printed": …}    a fork that is `litellm WORDS`: its id
    {"ended": ID}                                             its exit code; null while it runs

It runs in the proxy's virtual environment, and ends with its input, as do its forks.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from contextlib import suppress


def _start(job: dict) -> int:
    pid = os.fork()
    if pid:
        return pid
    printed = os.open(job["printed"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for fd, place in zip((os.open(os.devnull, os.O_RDONLY), printed, printed), range(3)):
        os.dup2(fd, place)
    os.closerange(3, 1024)
    os.environ.clear()
    os.environ.update(job["environ"])
    sys.path[:0] = job["environ"]["PYTHONPATH"].split(os.pathsep)
    os.chdir(job["cwd"])
    sys.argv = ["litellm", *job["words"]]
    litellm.run_server()
    os._exit(0)


def _ended(pid: int) -> int | None:
    done, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what is said while it loads answers nobody
    gc.disable()  # nothing of it is garbage, and looking for some takes a fifth of the time
    import litellm
    import litellm.proxy.proxy_server
    import uvicorn  # noqa: F401  loaded once, not in every fork

    gc.freeze()  # what a fork does not touch is not copied
    gc.enable()
    running = set()
    for line in sys.stdin:
        job = json.loads(line)
        if "ended" in job:
            answer = _ended(job["ended"])
            running -= {job["ended"]} if answer is not None else set()
        else:
            answer = _start(job)
            running.add(answer)
        print(json.dumps(answer), file=answers, flush=True)
    for pid in running:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
