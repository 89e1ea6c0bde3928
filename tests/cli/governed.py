"""A home whose retention can be asked in a shell: `bin/popkit retention`, at a time, with a memory and an archive of its own."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

from tests.cli.remembered import WIDTH, Remembered

GOLDENS = Path(__file__).parent / "goldens" / "retention"


class Governed(Remembered):
    """The checkout of a repository `shop`, and `popkit retention` in it."""

    def retention(self, *words: str, stdin: str | bytes = "", code: int = 0, **env: str) -> str:
        """What a word prints; it must end as it should, and with nothing else said."""
        done = self.asked(*words, stdin=stdin, **env)
        assert (done.returncode, done.stderr) == (code, ""), done.stdout + done.stderr
        return done.stdout

    def asked(self, *words: str, stdin: str | bytes = "", cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess:
        return self.run("retention", *words, stdin=stdin, cwd=cwd, **env)

    def told(self, *words: str, code: int = 0, **env: str) -> dict:
        """What a word answers, as JSON."""
        return json.loads(self.retention(*words, "--json", code=code, **env))

    def refused(self, *words: str, **env: str) -> str:
        """What is said of a mistake, on one line; the state stays as it was, byte for byte."""
        before = self.bytes()
        done = self.asked(*words, **env)
        assert (done.returncode, done.stdout) == (1, ""), done.stdout + done.stderr
        assert all(len(line) <= WIDTH + 6 for line in done.stderr.splitlines())
        assert done.stderr.startswith(("popkit retention:", "popkit:"))
        assert not set("\x1b\x07\u202e\u200b") & set(done.stderr)
        assert self.bytes() == before
        return " ".join(done.stderr.split())

    def bytes(self) -> dict[str, str]:
        """What stands in our folder, but for SQLite's and locks' own files, which opening alone changes."""
        passing = ("-shm", "-wal", ".lock", "hooks.log")
        return {
            str(path.relative_to(self.home)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.home.rglob("*"))
            if path.is_file() and not path.name.endswith(passing)
        }

    def policy(self, domain: str = "memory") -> dict:
        return {each["domain"]: each for each in self.told("show")["domains"]}[domain]["policy"]
