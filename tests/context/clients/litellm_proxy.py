"""LiteLLM's real proxy, in a virtual environment of its own in the cache folder, with what of its extra `proxy` it does not start without.

    python -m tests.context.clients.litellm_proxy

installs it. With POPKIT_OFFLINE set no registry is asked.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.client import installs
from tests.listening import free_port, on_a_free_port
from tests.patience import until

ROOT = Path(__file__).resolve().parents[3]
VERSION = "1.106.2"
OLDEST_PYTHON = (3, 10)
# The extra itself brings 250 MB more: data frames, clouds, another database.
OF_THE_PROXY = (
    "apscheduler backoff cryptography email-validator expression fastapi fastapi-sso httpx2 mcp orjson pyjwt python-multipart redis "
    "pynacl restrictedpython rich soundfile uvicorn uvloop websockets"
).split()
OF_OURS = "ast-grep-py>=0.39 opentelemetry-api>=1.30".split()
COMPLETE, _INSTALLED = "complete", " ".join([*OF_THE_PROXY, *OF_OURS])
KEY = "sk-of-the-proxy"
# Nothing is fetched, and nobody is told.
QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False", "LITELLM_MODE": "PRODUCTION", "DISABLE_ADMIN_UI": "True"}


def why_not() -> str:
    """Why it cannot be tried here; "" where it can."""
    if sys.version_info < OLDEST_PYTHON:
        return f"LiteLLM needs Python {OLDEST_PYTHON[0]}.{OLDEST_PYTHON[1]} or later"
    if os.environ.get("POPKIT_OFFLINE") and not os.environ.get("CI") and not _is_complete(_folder()):
        return "LiteLLM's proxy is not in .cache: run scripts/test once without --offline"
    return ""


def install() -> Path:
    """Its command, installed first if the cache has none."""
    folder = _folder()
    with installs._locked(folder):
        if not _is_complete(folder):
            shutil.rmtree(folder, ignore_errors=True)
            installs._run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
            pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet"]
            # It is compiled as it is loaded, which is little of what there is; else each of the proxies that begin at once would do that.
            installs._run([*pip, "--no-compile", "--disable-pip-version-check", f"litellm=={VERSION}", *OF_THE_PROXY, *OF_OURS])
            quiet = [f"{name}={value}" for name, value in QUIET.items()]
            installs._run(["env", *quiet, str(folder / "bin" / "python"), "-c", "import litellm.proxy.proxy_server"])
            (folder / COMPLETE).write_text(_INSTALLED)
    return folder / "bin" / "litellm"


def _is_complete(folder: Path) -> bool:
    """Whether it has been installed with the same packages."""
    return (folder / COMPLETE).exists() and (folder / COMPLETE).read_text() == _INSTALLED


def _folder() -> Path:
    return installs.cache_folder().parent / "litellm" / f"{VERSION}-python{sys.version_info[0]}.{sys.version_info[1]}"


class Proxy:
    """A running one. `log`: what it has printed so far."""

    def __init__(self, port: int, printed: Path) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._printed = printed

    @property
    def log(self) -> str:
        return self._printed.read_text(errors="replace")

    def is_up(self) -> bool:
        try:
            with urllib.request.urlopen(self.url + "/health/liveliness", timeout=5) as answer:  # noqa: S310  our own loopback
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False


class _Fork:
    """One of the forks, with what a test asks of a `subprocess.Popen`."""

    stdin = None

    def __init__(self, ask: Callable[[dict], Any], job: dict) -> None:
        self._ask = ask
        self._ended: int | None = None
        self.pid: int = ask(job)

    def poll(self) -> int | None:
        if self._ended is None:
            self._ended = self._ask({"ended": self.pid})
        return self._ended

    def terminate(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)

    def wait(self, _timeout: float) -> None:
        until(lambda: self.poll() is not None, "the proxy to end")


class Forks:
    """A process that has loaded the proxy, which takes longer than anything that a test asks of one; its forks are those proxies."""

    def __init__(self) -> None:
        program = [install().with_name("python"), "-m", f"{__package__}.litellm_forks"]
        self._process = subprocess.Popen(program, cwd=ROOT, env=_environ(ROOT), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self) -> None:
        self._process.communicate()

    def _answer(self, job: dict) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    @contextmanager
    def running(self, config: str, folder: Path, **environ: str) -> Iterator[Proxy]:
        """A proxy with a config.yaml, whose callbacks may come from our sources and these tests."""
        start, printed = self._starting(config, folder, environ)
        with on_a_free_port(start, lambda port: Proxy(port, printed).is_up(), printed) as port:
            yield Proxy(port, printed)

    def last_words(self, config: str, folder: Path, **environ: str) -> str:
        """What a proxy has printed that ends at its start."""
        start, printed = self._starting(config, folder, environ)
        proxy = start(free_port())
        until(lambda: proxy.poll() is not None, "the proxy to end")
        return printed.read_text(errors="replace")

    def _starting(self, config: str, folder: Path, environ: dict[str, str]) -> tuple[Callable[[int], _Fork], Path]:
        (folder / "config.yaml").write_text(config)
        printed = folder / "printed"
        job = {"environ": _environ(folder, **environ), "cwd": str(folder), "printed": str(printed)}

        def start(port: int) -> _Fork:
            words = ["--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
            return _Fork(self._answer, {**job, "words": words})

        return start, printed


def _environ(home: Path, **more: str) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "power-mode")])
    return {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": path, **QUIET, **more}


if __name__ == "__main__":
    if reason := why_not():
        print("  ", reason, flush=True)
        sys.exit()
    try:
        install()
        print("  ", VERSION, flush=True)
    except installs.ClientInstallError as error:
        sys.exit(str(error))
