"""A home whose retention can be asked in a shell: `bin/popkit retention`, at a time, with a memory and an archive of its own."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

from tests.cli.remembered import Remembered

GOLDENS = Path(__file__).parent / "goldens" / "retention"


class Governed(Remembered):
    """The checkout of a repository `shop`, and `popkit retention` in it."""

    def retention(self, *words: str, stdin: str | bytes = "", code: int = 0, **env: str) -> str:
        return self.printed("retention", *words, stdin=stdin, code=code, **env)

    def asked(self, *words: str, stdin: str | bytes = "", cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess:
        return self.run("retention", *words, stdin=stdin, cwd=cwd, **env)

    def answers(self, *words: str, code: int = 0, **env: str) -> dict:
        """What a word answers, as JSON."""
        return json.loads(self.retention(*words, "--json", code=code, **env))

    def refused(self, *words: str, **env: str) -> str:
        """What is said of a mistake, on one line; the state stays as it was, byte for byte."""
        before = self.bytes()
        message = self.mistaken("retention", *words, **env)
        assert self.bytes() == before
        return message

    def bytes(self) -> dict[str, str]:
        """What stands in our folder, but for SQLite's and locks' own files and the cached configuration, which reading alone changes."""
        passing = ("-shm", "-wal", ".lock", "hooks.log")
        return {
            str(path.relative_to(self.home)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.home.rglob("*"))
            if path.is_file() and not path.name.endswith(passing) and path.parent.name != "cache"
        }

    def policy(self, domain: str = "memory") -> dict:
        return {each["domain"]: each for each in self.answers("show")["domains"]}[domain]["policy"]
