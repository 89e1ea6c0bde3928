"""A project whose memory can be asked in a shell: `bin/popkit memory` on a home, at a time, with transcripts of its own."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path

from tests.cli.played import WIDTH, Played

GOLDENS = Path(__file__).parent / "goldens" / "memory"
DAY_S = 86_400.0
HOSTILE = "run \x1b[31mmake\x1b]0;owned\x07 \u202etset\u202c\u200b\r\nthen\tstop \U000e0041 é"
DEFINED = "export function calculateBasketTotal() {}\n"  # what the file holds that sessions work on
# What is wider because nothing could be left out of it: a command or an id on a line of its own.
_WHOLE = re.compile(r"^  (?:popkit|/)")


class Remembered(Played):
    """The checkout of a repository `shop`, and `popkit memory` in it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        git = self.project / ".git"
        git.mkdir()
        # The same repository on every machine, so that the ids of what is remembered are the same too.
        (git / "config").write_text('[remote "origin"]\n\turl = https://github.com/acme/shop.git\n')

    def memory(self, *words: str, stdin: str | bytes = "", code: int = 0, cwd: Path | None = None) -> str:
        return self.printed("memory", *words, stdin=stdin, code=code, cwd=cwd)

    def ask(self, *words: str, stdin: str | bytes = "", cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess:
        return self.run("memory", *words, stdin=stdin, cwd=cwd, **env)

    def json(self, *words: str, stdin: str | bytes = "", code: int = 0) -> dict:
        return json.loads(self.memory(words[0], "--json", *words[1:], stdin=stdin, code=code))

    def mistake(self, *words: str, stdin: str | bytes = "") -> str:
        message = self.mistaken("memory", *words, stdin=stdin)
        assert message.startswith("popkit memory:")
        return message

    def add(self, text: str, *flags: str) -> str:
        """Remembers a text; its id."""
        return self.json("add", *flags, "--", text)["items"][0]["id"]

    def items(self, *flags: str) -> dict[str, dict]:
        return {item["id"]: item for item in self.json("list", "--all", *flags)["items"]}

    def exported(self) -> list[dict]:
        """Everything that is kept, without the time of the export."""
        lines = [json.loads(line) for line in self.memory("admin", "export", "--all").splitlines()]
        return lines[1:-1]

    def log(self) -> str:
        path = self.home / "hooks.log"
        return path.read_text() if path.exists() else ""

    def work(self, name: str = "src/checkout/basket_total.ts") -> Path:
        """A session in which a file was written and tested; its transcript."""
        (self.project / name).parent.mkdir(parents=True, exist_ok=True)
        (self.project / name).write_text(DEFINED)
        self.call("Read", {"file_path": str(self.project / name)}, _file(str(self.project / name)), hooked=False)
        edit = {"file_path": str(self.project / name), "old_string": "a", "new_string": DEFINED}
        for _ in range(3):
            self.call("Edit", edit, {"filePath": edit["file_path"], "structuredPatch": []}, hooked=False)
            self.bash("npm run test:unit", "PASS 3 tests\n", hooked=False)
        return self.transcript

    def session(self, id: str, name: str = "src/checkout/basket_total.ts") -> Path:
        """Another session of the project, a day later."""
        self.transcript = self.transcript.with_name(f"{id}.jsonl")
        self.now += DAY_S
        self.last = None
        self._line("user", {"role": "user", "content": "Always run the linter before you commit."})
        return self.work(name)


def _file(path: str) -> dict:
    return {"type": "text", "file": {"filePath": path, "content": DEFINED, "numLines": 1, "startLine": 1, "totalLines": 1}}


def export_of(items: list[dict]) -> str:
    """Items as an export would have them."""
    lines = [json.dumps(value) + "\n" for value in ({"popkit_memory": 1}, *items)]
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    return "".join(lines) + json.dumps({"end": True, "items": len(items), "sha256": digest}) + "\n"


def fits(shown: str) -> bool:
    """Whether every line fits."""
    return all(len(line) <= WIDTH or _WHOLE.match(line) for line in shown.splitlines())


def unwrapped(shown: str) -> str:
    """What was shown, each line of which fits, without line breaks."""
    assert fits(shown), shown
    return " ".join(shown.split())


def anywhere(shown: str) -> str:
    """What was shown, wherever the checkout lies that taught an item."""
    return re.sub(r"(?s)(Taught in  )/.*?(?=\nTier)", r"\1SHOP", shown)
