"""The operating system as hooks use it: `os` here is the built-in `posix`, because `import os` costs a hook 1 ms of its 12.

Where there is no `posix`, it is `os` itself. Paths are joined and split as text; what needs more loads `os.path` then.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

try:
    import posix as os
except ImportError:
    import os  # type: ignore[no-redef]  # what a platform has in place of it

    def environment() -> dict[str, str]:
        """Return the environment, as text."""
        return dict(os.environ)  # type: ignore[arg-type]  # that of `os` is text

else:

    def environment() -> dict[str, str]:
        """Return the environment, as text; bytes that are not UTF-8 are kept as lone surrogates."""
        return {key.decode("utf-8", "surrogateescape"): value.decode("utf-8", "surrogateescape") for key, value in os.environ.items()}


try:
    from _sha256 import sha256  # type: ignore[import-not-found]  # up to 3.11; `hashlib` brings OpenSSL with it
except ImportError:
    try:
        from _sha2 import sha256  # type: ignore[import-not-found]
    except ImportError:
        from hashlib import sha256


__all__ = ["absolute", "day_of", "days_before", "environment", "join", "now", "os", "parent_of", "sha256"]


def join(folder: str, *names: str) -> str:
    """Return a path below a folder. The names are ours, never from input: they are not checked."""
    return "/".join((folder.rstrip("/") or "", *names))


def is_alive(pid: int) -> bool:
    """Return whether a process has this number, another user's too."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # another user's
    return True


def parent_of(path: str) -> str:
    """Return the folder of a path; "" where it names none."""
    return path.rpartition("/")[0]


def absolute(path: str) -> str:
    """Return the path, absolute and without detours."""
    # A name may begin with a dot: the plugin is installed below ~/.claude.
    if path.startswith("/") and "//" not in path and "/./" not in path + "/" and "/../" not in path + "/":
        return path
    from os.path import abspath

    return abspath(path)


_YEAR_10000 = 253_402_300_800.0


def now(environ: Mapping[str, str]) -> float:
    """Return seconds since the epoch. POPKIT_CLOCK sets the time, so that a recorded session can be fed to real hooks; what no calendar has
    (NaN, a year of five digits) sets nothing."""
    try:
        at = float(environ["POPKIT_CLOCK"])
    except (KeyError, ValueError):
        return time.time()
    return at if 0.0 <= at < _YEAR_10000 else time.time()


def day_of(at: float) -> str:
    """Return the day of a time (seconds since the epoch) in this computer's time zone, as in "2026-11-22"; "" for a time that no calendar
    has."""
    try:
        return time.strftime("%Y-%m-%d", time.localtime(at))
    except (ValueError, OverflowError, OSError):
        return ""


def days_before(day: str, days: int) -> str:
    """Return the day that is a number of days before another; both as `day_of` has them."""
    year, month, number = map(int, day.split("-"))
    return day_of(time.mktime((year, month, number - days, 12, 0, 0, 0, 0, -1)))
