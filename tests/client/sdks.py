"""Anthropic's Agent SDK for Python and TypeScript, into the cache folder that the clients are in, without a client of their own: they drive
the one that is there.

    python -m tests.client.sdks

installs both. They are tools of the tests alone: the one for TypeScript is under Anthropic's terms, as the client is, the one for Python
under MIT. With POPKIT_OFFLINE set no registry is asked.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from . import installs

PYTHON_PACKAGE, PYTHON_VERSION = "claude-agent-sdk", "0.2.188"
TYPESCRIPT_PACKAGE, TYPESCRIPT_VERSION = "@anthropic-ai/claude-agent-sdk", "0.3.331"
OLDEST_PYTHON = (3, 10)
COMPLETE = "complete"


def why_not_python() -> str:
    """Why the SDK for Python cannot be tried here; "" where it can."""
    if sys.version_info < OLDEST_PYTHON:
        return f"the Agent SDK needs Python {OLDEST_PYTHON[0]}.{OLDEST_PYTHON[1]} or later"
    return ""


def python() -> Path:
    """A Python that has the SDK, installed first if the cache has none. Its source package has no client in it, unlike its wheel."""
    folder = _folder(f"python-{PYTHON_VERSION}-{sys.version_info[0]}.{sys.version_info[1]}")
    program = folder / "bin" / "python"
    with installs._locked(folder):
        if not (folder / COMPLETE).exists():
            shutil.rmtree(folder, ignore_errors=True)
            installs._run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
            pip = [sys.executable, "-m", "pip", "--python", str(program), "install", "--quiet", "--disable-pip-version-check"]
            installs._run([*pip, "--no-binary", PYTHON_PACKAGE, f"{PYTHON_PACKAGE}=={PYTHON_VERSION}"])
            (folder / COMPLETE).touch()
    return program


def typescript() -> Path:
    """The folder whose node_modules have the SDK, installed first if the cache has none. The client is an optional package of it."""
    folder = _folder(f"typescript-{TYPESCRIPT_VERSION}")
    with installs._locked(folder):
        if not (folder / COMPLETE).exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            npm = [installs.npm() or "npm", "install", "--omit=optional", "--prefix", str(folder)]
            installs._run([*npm, f"{TYPESCRIPT_PACKAGE}@{TYPESCRIPT_VERSION}"])
            (folder / COMPLETE).touch()
    return folder


def _folder(name: str) -> Path:
    return installs.cache_folder().parent / "agent-sdk" / name


if __name__ == "__main__":
    try:
        if why_not_python():
            print("  ", why_not_python(), flush=True)
        else:
            print("  ", PYTHON_VERSION, python().parent.parent.name, flush=True)
        print("  ", TYPESCRIPT_VERSION, typescript().name, flush=True)
    except installs.ClientInstallError as error:
        sys.exit(str(error))
