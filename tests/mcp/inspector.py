"""The MCP Inspector's command line, from npm, into the cache folder that the clients are in."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.client import installs
from tests.patience import HANG_S

PACKAGE = "@modelcontextprotocol/inspector"
VERSION = "2.12.0"
PROGRAM = "mcp-inspector"


def install() -> Path:
    """The program, installed first if the cache has none."""
    folder = installs.cache_folder().parent / "inspector" / VERSION
    program = folder / "node_modules" / ".bin" / PROGRAM
    with installs._locked(folder):
        if not program.exists():
            folder.mkdir(parents=True, exist_ok=True)
            installs._run([installs.npm() or "npm", "install", "--prefix", str(folder), f"{PACKAGE}@{VERSION}"])
    return program


def inspect(program: Path, server: Path, environ: dict[str, str], folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """One run of it against `SERVER mcp`."""
    named = [word for name, value in environ.items() for word in ("-e", f"{name}={value}")]
    command = [program, "--cli", *named, server, "mcp", "--method", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=HANG_S, check=False)


def answer(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The JSON that it printed."""
    return json.loads(done.stdout)


if __name__ == "__main__":
    try:
        install()
        print("  ", VERSION, flush=True)
    except installs.ClientInstallError as error:
        sys.exit(str(error))
