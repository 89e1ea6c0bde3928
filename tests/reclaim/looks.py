"""A session that looked around, then worked on other things for long: what the tests of `auto` clear."""

from __future__ import annotations

import json

from popkit_retention.core.policy.estimate import estimate_tokens
from tests.reclaim.shops import Talk, code

PRESERVED = {"asked", "failed"}
NAMED = "".join(f"export const handleCheckoutStep{n} = steps.of('src/checkout/step{n}.tsx', {n * 7919});\n" for n in range(130))
FOUND = [f"packages/shop/src/part{n}.test.ts" for n in range(60)]


class Sized(Talk):
    """A transcript whose prompts grow by what its results hold."""

    def result(self, id: str, content, structure=None, error: bool = False, **fields) -> str:
        self.tokens += estimate_tokens(content if isinstance(content, str) else json.dumps(content))
        return super().result(id, content, structure, error, **fields)

    def rest(self, calls: int) -> None:
        """Calls that have nothing to do with what was seen before, five of them in a turn."""
        for number in range(calls // 5):
            self.prompt(f"and then part {number}")
            self.idle(5)

    def answer(self, text: str) -> None:
        """The last answer of a turn: a request that has sent all that stands before it."""
        self.tokens += 500
        self.say(text, {"input_tokens": 3, "cache_creation_input_tokens": 500, "cache_read_input_tokens": self.tokens - 503})


def looked(cwd: str = "/shop", idle: int = 40, **how) -> Sized:
    """A session that looked around, worked on other things for long, and has just read and edited a file. Long unused: `read-long` and
    `found` (both live), `old-test` (superseded), `read-old` (edited). Used lately: `read-app` (edited), `read-lib`. Preserved: `asked`,
    `failed`. Small: the edits, `read-tiny`."""
    talk = Sized(cwd, **how)
    talk.prompt("please fix it")
    talk.read("read-long", cwd + "/src/checkout.ts", NAMED)
    talk.read("read-old", cwd + "/old.ts", code(120))
    talk.edit("edit-old", cwd + "/old.ts")
    talk.read("read-tiny", cwd + "/tiny.ts", "x\n")
    talk.use("found", "Grep", {"pattern": "describe"})
    talk.result("found", "\n".join(FOUND), {"mode": "files_with_matches", "filenames": FOUND, "numFiles": len(FOUND)})
    talk.bash("old-test", "npm test", "".join(f"  ok {n} - adds and takes away\n" for n in range(90)))
    talk.ask("asked", "which one?", "the second " * 200)
    talk.use("failed", "mcp__demo__deploy", {"to": "shop"})
    talk.result("failed", "no such place: shop\n" * 60, "Error: " + "no such place: shop\n" * 60, error=True)
    talk.bash("new-test", "npm test", "".join(f"  ok {n} - adds and takes it away\n" for n in range(90)))
    talk.rest(idle)
    talk.read("read-lib", cwd + "/lib.ts", code(60, "lib"))
    talk.read("read-app", cwd + "/app.ts", code(60, "app"))
    talk.edit("edit-app", cwd + "/app.ts")
    talk.answer("Done.")
    return talk


LONG_UNUSED = {"read-long", "read-old", "found", "old-test", "new-test"}
LARGE = {"read-long", "found"}  # with names in them
LATELY = {"read-lib", "read-app"}


def ids(results: list) -> set[str]:
    return {result.id for result in results}
