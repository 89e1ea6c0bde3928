"""The virtual environment in our folder, into which pip installs the packages that some commands need. Hooks never use it."""

from __future__ import annotations

import os
import sys

from popkit_retention.core import text
from popkit_retention.core.io import files

from ..extras import EXTRAS, folder_of, works
from ..extras import run as run_python
from .answering import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


_HOW_TO_GET_VENV = "Install Python's venv module (on Debian and Ubuntu: sudo apt install python3-venv), then try again"
_NO_NETWORK = ("Failed to establish a new connection", "NewConnectionError", "Temporary failure in name resolution", "ConnectTimeoutError",
               "ReadTimeoutError", "ProxyError", "Network is unreachable")  # fmt: skip


def set_up_extra(name: str, environ: Mapping[str, str], quiet: bool) -> dict:
    """Install one extra; return what was done, as data."""
    folder = folder_of(environ)
    if os.path.lexists(folder) and not os.path.lexists(folder + ".lock"):
        raise Refused(f"{folder} is not from popkit setup. Move it away, or set POPKIT_HOME")
    try:
        files.make_private_folder(os.path.dirname(folder))
        with files.Lock(folder + ".lock"):
            python = os.path.join(folder, "bin", "python")
            if run_python([python, "-c", "pass"], environ).returncode:
                _say(f"Making a virtual environment in {folder} …", quiet)
                _make(folder, environ)
            _say(f"Installing {', '.join(EXTRAS[name][1])} …", quiet)
            installed = _install(name, _pip_for(python, environ), environ)
            _make_private(folder)
    except files.LockTimeout:
        raise Refused("another popkit setup is running. Wait until it is done") from None
    except OSError as error:
        raise Refused(f"{folder} cannot be written ({error.strerror or error}). Make it writable, or set POPKIT_HOME") from None
    if not works(python, name, environ):
        raise Refused(f"the installation does not work with {python}. Delete {folder}, then run popkit setup {name} again")
    return {"name": name, "python": python, "folder": folder, "installed": installed}


def _say(line: str, quiet: bool) -> None:
    if not quiet:
        print(text.clean(line), file=sys.stderr, flush=True)


def _make(folder: str, environ: Mapping[str, str]) -> None:
    """Create a virtual environment. Its own pip is added later, if at all."""
    done = run_python([sys.executable, "-m", "venv", "--clear", "--without-pip", folder], environ)
    if done.returncode:
        if not os.access(os.path.dirname(folder), os.W_OK):
            raise Refused(f"{os.path.dirname(folder)} cannot be written. Make it writable, or set POPKIT_HOME")
        raise Refused(f"{sys.executable} cannot make a virtual environment: {_last_line(done.stdout)}. {_HOW_TO_GET_VENV}")


def _pip_for(python: str, environ: Mapping[str, str]) -> list[str]:
    """Return the command of a pip that installs for an interpreter. Using an existing pip saves a quarter of a minute."""
    ours = [sys.executable, "-m", "pip", "--python", python]
    its_own = [python, "-m", "pip"]
    for pip in (ours, its_own):
        if not run_python([*pip, "--version"], environ).returncode:
            return pip
    done = run_python([python, "-m", "ensurepip"], environ)
    if done.returncode:
        raise Refused(f"{sys.executable} has no pip: {_last_line(done.stdout)}. {_HOW_TO_GET_VENV}")
    return its_own


def _install(name: str, pip: list, environ: Mapping[str, str]) -> list[str]:
    """Install the packages of an extra; return the new ones. Installed packages need no network."""
    wanted = EXTRAS[name][1]
    done = run_python([*pip, "install", "--disable-pip-version-check", "--no-input", "--no-user", "--retries", "1", *wanted], environ)
    if done.returncode:
        if any(sign in done.stdout for sign in _NO_NETWORK):
            raise Refused("the package index cannot be reached. Check your network, then try again")
        raise Refused(f"pip could not install {', '.join(wanted)}: {_last_line(done.stdout)}")
    (new,) = [line.partition(" ")[2].split()[1:] for line in done.stdout.splitlines() if line.startswith("Successfully installed")] or [[]]
    return new


def _make_private(folder: str) -> None:
    """Remove other users' permissions, which the venv module's scripts come with."""
    for inner, _, names in os.walk(folder):
        for path in [inner, *(os.path.join(inner, name) for name in names)]:
            if not os.path.islink(path):
                os.chmod(path, os.stat(path).st_mode & 0o700)


def _last_line(output: str) -> str:
    """Return the last line that a program printed on standard error, else on standard output."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return text.cut(text.clean((errors or lines or ["it said nothing"])[-1]), 200)
