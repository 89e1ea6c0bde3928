"""The packages that the programs of docs/agents need, for each Python that they are tried with.

    python -m tests.guide_packages

installs them for the oldest Python and the newest that are here, as wheels alone. With POPKIT_OFFLINE set no registry is asked.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import sysconfig
from pathlib import Path

from tests.client import installs

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("context", "langgraph", "openai-agents", "pydantic-ai", "tokens")
CLIENTS = ("anthropic>=0.60", "openai>=1.100")
COMPLETE = "complete"


def pythons() -> dict[str, tuple[int, int]]:
    """Return the interpreters to try, with their versions: that of the tests, the oldest and the newest of pyenv that is supported."""
    found = {str(path): _version(path) for path in (Path.home() / ".pyenv" / "versions").glob("3.*/bin/python")}
    listed = sorted((version, path) for path, version in found.items() if (3, 9) <= version != sys.version_info[:2])
    chosen = {path: version for version, path in (listed[:1] + listed[-1:])}
    return {sys.executable: sys.version_info[:2], **chosen}


def _version(python: Path) -> tuple[int, int]:
    major, minor = python.parts[-3].split(".")[:2]
    return int(major), int(minor)


def folder_of(python: str) -> Path | None:
    """Return the folder of the packages for an interpreter; None where they are not installed."""
    if python == sys.executable:
        return Path(sysconfig.get_path("purelib"))
    folder = _folder(pythons()[python])
    return folder if (folder / COMPLETE).exists() else None


def _folder(version: tuple[int, int]) -> Path:
    return installs.cache_folder().parent / "guides" / f"python{version[0]}.{version[1]}"


def requirements(extra: str) -> list[str]:
    """Return what pyproject.toml lists for an extra, without our own package."""
    (listed,) = re.findall(rf"^{extra} = (\[.*\])$", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    return [package for package in json.loads(listed) if not package.startswith("popkit-retention[")]


def install(python: str, version: tuple[int, int]) -> None:
    """Install the packages for one interpreter. Without wheels for it, a compiler would be needed: that is an error."""
    folder = _folder(version)
    with installs._locked(folder):
        packages = sorted({*(package for extra in EXTRAS for package in requirements(extra)), *CLIENTS})
        named = "\n".join(packages)
        if (folder / COMPLETE).exists() and (folder / COMPLETE).read_text() == named:
            return
        shutil.rmtree(folder, ignore_errors=True)
        # Markers are those of the interpreter that pip runs in.
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:", "--target", str(folder)]
        installs._run([*command, *packages])
        (folder / COMPLETE).write_text(named)


if __name__ == "__main__":
    try:
        for python, version in pythons().items():
            if python != sys.executable:
                install(python, version)
                print("   for Python", ".".join(map(str, version)), flush=True)
    except installs.ClientInstallError as error:
        sys.exit(str(error))
