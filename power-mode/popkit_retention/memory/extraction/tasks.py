"""The tasks of a project, by their runners' words: `mise run lint`, `deno task build`, `nox -s tests`, `scripts/test`. Pure.

What the words in a name say is the engine's table (`family_of`), as are the runners whose tasks it reads itself (make, just, npm and the
like). Here are the others, which for the engine do something else.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from popkit_retention.core.policy.commandline import programs
from popkit_retention.core.policy.commandline.runs import family_of
from popkit_retention.core.policy.commandline.wrappers import program_of
from popkit_retention.core.state.memory_records import BUILD, FORMAT, LINT, RUN, TEST

PURPOSES = {"test": TEST, "lint": LINT, "types": LINT, "build": BUILD}
# The words between a runner and the name of its task, the longest first; "" where there are none.
RUNNERS = {
    "mise": ("tasks run", "task run", "run", "r", ""),
    **dict.fromkeys(("uv", "poetry", "pipenv", "hatch"), ("run",)),
    **dict.fromkeys(("pdm", "rye"), ("run", "")),
    "pixi": ("task run", "run"),
    "tox": ("run -e", "r -e", "-e"),
    "nox": ("-s", "--session", "--sessions", "-e"),
    "zig": ("build",),
    "deno": ("task",),
    "composer": ("run-script", "run"),
    "dagger": ("call",),
    **dict.fromkeys(("melos", "devbox"), ("run",)),
    **dict.fromkeys("go-task gradle earthly hk poe doit bazelisk buck2 pants".split(), ("",)),
}
# Folders of scripts that bear the name of what they do.
_SCRIPTS = re.compile(r"(?:\./)?(?:(?:[\w.-]+/)*(?:scripts?|bin|tools?|hack|ci|dev)/|(?<=\./))(?P<name>[\w-]+?)(?:\.(?:sh|bash|ps1))?\Z")
_NAME = re.compile(r"[+/:@\w][\w:@./+-]*\Z")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORDS = re.compile(r"[^a-z]+")
_FORMATS = frozenset("format fmt reformat fix autofix".split())
_STARTS = frozenset("run dev start serve server watch preview".split())


class Task(NamedTuple):
    """A task that a command line runs: `runner`, its `name`, and the place of the word behind it."""

    runner: str
    name: str
    end: int


def task_of(words: list[str], start: int) -> Task | None:
    """Return the task that a command line runs; None where it runs none. `start`: the place of the command behind all wrappers."""
    for at in range(start, -1, -1):
        runner = program_of(words[at])
        for between in RUNNERS.get(runner, ()):
            place = _behind(words, at + 1, between.split())
            if not 0 < place < len(words) or start not in (at, place) or not _NAME.match(words[place]):
                continue
            if program_of(words[place]) in programs.INTERPRETERS | programs.SHELLS:
                continue
            if between or purpose_of(words[place]) not in ("", RUN):  # else it is a command of the runner's own
                return Task(runner, words[place], place + 1)
    at = start + 1 if words[start] in programs.SHELLS and start + 1 < len(words) else start
    script = _SCRIPTS.match(words[at])
    if script and script["name"] in programs.WORD_FAMILIES:
        return Task("script", words[at].removeprefix("./"), at + 1)
    return None


def _behind(words: list[str], at: int, between: list[str]) -> int:
    """Return the place behind the words between a runner and its task, 0 where they are others; options in front of them do not matter."""
    while at < len(words) and words[at][:1] == "-" and words[at] not in between[:1]:
        at += 1
    return at + len(between) if words[at : at + len(between)] == between else 0


def purpose_of(name: str) -> str:
    """Return what a task is for by its name: RUN where its words do not say, "" for one that deploys, installs or cleans."""
    plain = _CAMEL.sub("-", name.rpartition("/")[2].lstrip("+").removesuffix(".sh"))
    words = [word for word in _WORDS.split(plain.lower()) if word]
    if ("spotless" in words and "apply" in words) or not _FORMATS.isdisjoint(words):
        return LINT if "check" in words else FORMAT
    family = family_of(plain)
    if family == "no" or not family:
        return RUN if not family or words[0] in _STARTS else ""
    return PURPOSES[family]
