"""`popkit setup NAME` installs the packages that some commands need into a virtual environment in our folder, with pip. Hooks never use
it. `popkit setup shell` puts a link on the PATH instead, and a feature may have something of its own to set up.

Exit 0 when it is installed afterwards. Running it again updates the installation.
"""

from __future__ import annotations

import os
import sys

from hooks.utils import text
from hooks.utils.io import files

from .. import features
from ..extras import EXTRAS, folder_of, place_of, works
from ..extras import run as run_python
from . import shell_setup
from .answering import Answer, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hooks.utils.flag_parser import Parsed

MISTAKES = (OSError,)
_HOW_TO_GET_VENV = "Install Python's venv module (on Debian and Ubuntu: sudo apt install python3-venv), then try again"
_NO_NETWORK = ("Failed to establish a new connection", "NewConnectionError", "Temporary failure in name resolution", "ConnectTimeoutError",
               "ReadTimeoutError", "ProxyError", "Network is unreachable")  # fmt: skip


def run(args: Parsed, environ: Mapping[str, str]) -> int | Answer:
    """List what can be set up, or set one of them up."""
    name: str = args.argument
    setups, scope = {each.name: each for each in features.setups()}, args.flags.get("scope", "user")
    if name in setups:
        if args.json:
            raise Refused(f"popkit setup {name} shows a change and asks, so it has no --json. --yes skips the question")
        code: int = features.found(setups[name].does)(args.undo, scope, args.yes, environ)
        return code
    if name == shell_setup.SHELL and scope == "user":
        if args.json:
            raise Refused(f"popkit setup {name} asks, so it has no --json. --yes skips the question")
        return shell_setup.set_up_shell(args.undo, args.yes, environ)
    if args.undo or args.yes or scope != "user":
        asking = " and ".join((*setups, shell_setup.SHELL))
        raise Refused(f"--undo and --yes are for popkit setup {asking}" + (f", --scope is for {' and '.join(setups)}" if setups else ""))
    if not name:
        return _list(environ)
    result = _set_up(name, environ, quiet=args.json)
    message = f"{name} is ready: " + ("installed " + ", ".join(result["installed"]) if result["installed"] else "nothing was missing") + "."
    return Answer(text.wrap(message), result)


def _list(environ: Mapping[str, str]) -> Answer:
    lines = text.title("What can be set up")
    data = {}
    for name, (purpose, packages, _) in EXTRAS.items():
        python = place_of(name, environ)
        data[name] = {"for": purpose, "packages": packages, "python": python}
        lines += _row(name, bool(python), purpose)
    for each in features.setups():
        lines += _row(each.name, bool(features.found(each.is_there)(environ)), each.purpose)
    return Answer([*lines, "", *text.wrap("popkit setup NAME installs one of them, or brings it up to date.")], data)


def _row(name: str, is_ready: bool, purpose: str) -> list[text.Line]:
    return text.entry(f"{name:<12}{'ready' if is_ready else 'not set up'}", purpose, 24)


# --- setting up ---


def _set_up(name: str, environ: Mapping[str, str], quiet: bool) -> dict:
    """Install one extra; return what was done, as data."""
    folder = folder_of(environ)
    if os.path.lexists(folder) and not os.path.lexists(folder + ".lock"):
        raise Refused(f"{folder} is not from popkit setup. Move it away, or set POPKIT_HOME to another folder")
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
        raise Refused(f"{folder} cannot be written ({error.strerror or error}). Change its owner to you, or set POPKIT_HOME") from None
    if not works(python, name, environ):
        raise Refused(f"the installation does not work with {python}. Delete {folder}, then run popkit setup {name} again")
    return {"name": name, "python": python, "folder": folder, "installed": installed}


def _say(line: str, quiet: bool) -> None:
    if not quiet:
        print(text.clean(line), file=sys.stderr, flush=True)


def _make(folder: str, environ: Mapping[str, str]) -> None:
    """Create a virtual environment. Its own pip is added later, if it is needed at all."""
    done = run_python([sys.executable, "-m", "venv", "--clear", "--without-pip", folder], environ)
    if done.returncode:
        if not os.access(os.path.dirname(folder), os.W_OK):
            raise Refused(f"{os.path.dirname(folder)} cannot be written. Change its owner to you, or set POPKIT_HOME to another folder")
        raise Refused(f"{sys.executable} cannot make a virtual environment: {_last_line(done.stdout)}. {_HOW_TO_GET_VENV}")


def _pip_for(python: str, environ: Mapping[str, str]) -> list[str]:
    """Return the command of a pip that installs for an interpreter: using an existing one saves a quarter of a minute."""
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
    """Remove the permissions of others, which scripts of the venv module come with."""
    for inner, _, names in os.walk(folder):
        for path in [inner, *(os.path.join(inner, name) for name in names)]:
            if not os.path.islink(path):
                os.chmod(path, os.stat(path).st_mode & 0o700)


def _last_line(output: str) -> str:
    """Return the last line that a program printed on standard error, else on standard output."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return text.cut(text.clean((errors or lines or ["it said nothing"])[-1]), 200)
