"""A session that several tests go on from: played once, and for each of them its home is as it was then."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from popkit_retention.core.state import sockets
from tests.patience import until

from .client import ClientHome
from .installs import Installed
from .scripted_api import ScriptedApi


class Kept:
    """A home after something was played in it; `play` gets the home and its API, and what it gives is `played`."""

    def __init__(self, home: ClientHome, api: ScriptedApi, play: Callable[[ClientHome, ScriptedApi], object]):
        self.home = home
        self.api = api
        self.played = play(home, api)
        self._scripts = dict(api.scripts)
        self._env = dict(home.extra_env)
        self._copy = home.root.with_name("kept")
        self._used = itertools.count(1)
        self._wait_for_processes()
        _copy(home.root, self._copy)

    def as_it_was(self) -> Any:
        """Put files with their times, scripts and environment back, and return what was played; no request was made yet. What a test left
        stays beside it."""
        self._wait_for_processes()
        self.home.root.rename(self.home.root.with_name(f"used-{next(self._used)}"))
        _copy(self._copy, self.home.root)
        self.home.extra_env = dict(self._env)
        self.api.scripts = dict(self._scripts)
        self.api.clear()
        return self.played

    def _wait_for_processes(self) -> None:
        """Helpers, and the jobs that a session's end begins, write until they have ended, which is a little after their client."""
        popkit_home = str(self.home.config / "popkit")
        until(lambda: not sockets.running(popkit_home) and not _is_home_of_any(self.home.root), "what works in this home to end")


def _is_home_of_any(folder: Path) -> bool:
    """Whether a process has this folder in its environment, as far as the system says so."""
    inside = os.fsencode(folder) + b"/"
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if inside in path.read_bytes():
                return True
    return False


@contextmanager
def kept(
    installed: Installed, play: Callable[[ClientHome, Any], object], make_api: Callable[[], ScriptedApi] = ScriptedApi
) -> Iterator[Kept]:
    """Plays in a new home, and closes the API afterwards. The home's path is short enough for the sockets by which helpers are found."""
    with make_api() as api, TemporaryDirectory(prefix="popkit-", ignore_cleanup_errors=True) as folder:
        home = ClientHome(Path(folder, "home"), installed, api.url)
        api.places["work"] = str(home.work)
        yield Kept(home, api, play)


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True, ignore=_sockets)


def _sockets(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).is_socket()]
