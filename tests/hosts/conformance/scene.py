"""What is played in every host: a file is read, shown again, edited and read; a test fails as before; noise; a later turn; a compaction."""

from __future__ import annotations

from typing import Any, Protocol

from tests.client.scripted_api import Step, call, say
from tests.opencode.conversations import big_file

FILE = "src/big.js"
NOISE = 'for n in 1 2 3 4 5 6 7 8 9; do printf "\\r%s0 %%" $n; done; echo; for n in $(seq 30); do echo waiting; done; echo ready'
PROMPTS = ("go [[SCRIPT:work]]", "go on [[SCRIPT:again]]", "once more [[SCRIPT:again]]")  # a compaction before the last


class Words(Protocol):
    """How a host calls what is done: each returns the name of a tool and its input."""

    def read(self, path: str) -> tuple[str, dict[str, Any]]: ...
    def shell(self, command: str) -> tuple[str, dict[str, Any]]: ...
    def edit(self, path: str, old: str, new: str) -> tuple[str, dict[str, Any]]: ...


def scripts(words: Words) -> dict[str, list[Step]]:
    """The scripts that the prompts name, in a host's words."""
    path, line = f"{{work}}/{FILE}", big_file().split("\n")[5]
    done = [
        words.read(path), words.shell(f"cat {path}"), words.shell("npm test"), words.shell("npm test"),
        words.edit(path, line, line + " // seen"), words.read(path), words.shell(NOISE), words.shell(f"cat {path}"),
    ]  # fmt: skip
    again = [words.read(path), words.shell(f"tail -60 {path}"), words.shell(NOISE)]
    return {"work": [*map(call, done), say("Done.")], "again": [*map(call, again), say("The same.")]}
