"""A day of work of 80 tool calls as agents do it, on a project of real code: what the tests of the long session play.

The project's modules are some of Python's own, of 150 to 400 lines. A script is written against the files as they stand at that point of
it, so that each edit names lines that are there, whichever Python runs. Everything that a command prints is the same in every session
that plays the script: what takes time says a time that goes by a count of runs.
"""

from __future__ import annotations

import inspect
import re
import subprocess
from collections.abc import Iterable
from importlib import import_module
from typing import Any, NamedTuple

from tests.patience import HANG_S

from .client import ClientHome
from .scripted_api import Step, call, say, thought

Call = tuple[str, dict[str, Any]]
# Named for what they do here.
MODULES = {
    "lexer": "shlex",
    "jobs": "queue",
    "console": "cmd",
    "shelf": "shelve",
    "schedule": "sched",
    "matching": "fnmatch",
    "bundle": "zipapp",
    "shell": "code",
    "order": "graphlib",
    "compared": "filecmp",
    "timing": "timeit",
    "indents": "tabnanny",
    "options": "getopt",
}
# What subagents look into.
AGENTS = {"left": ("matching", "bundle"), "right": ("shell", "jobs")}
RUN_TESTS = r"""
import pathlib, re, sys
runs = pathlib.Path(".runs")
run = int(runs.read_text()) + 1 if runs.exists() else 1
runs.write_text(str(run))
names = [
    f"tests/test_{path.stem}.py::test_{name.strip('_')}"
    for path in sorted(pathlib.Path("src").glob("*.py"))
    for name in dict.fromkeys(re.findall(r"def (\w+)", path.read_text()))
]
failing = names[7 :: 31] if run < 3 else names[7:8] if run < 5 else []
print("=" * 26, "test session starts", "=" * 26)
print("platform linux -- Python 3, pytest-8.3.4, pluggy-1.5.0")
print(f"collected {len(names)} items\n")
for number, name in enumerate(names, 1):
    if "-v" in sys.argv:
        print(f"{name} {'FAILED' if name in failing else 'PASSED'} [{100 * number // len(names):3d}%]")
    else:
        print("F" if name in failing else ".", end="" if number % 72 else f" [{100 * number // len(names):3d}%]\n")
for name in failing:
    print(f"\n{'_' * 20} {name.rpartition('::')[2]} {'_' * 20}\n")
    for line in range(12):
        print(f"    {name.rpartition('::')[2]}_step_{line}(given, wanted={line * run})")
    print(f"E   AssertionError: {name} wanted {run * 7}")
words = f"{len(failing)} failed, " if failing else ""
print(f"\n===== {words}{len(names) - len(failing)} passed in {1.17 + run * 0.13:.2f}s =====")
sys.exit(bool(failing))
"""
BUILD = r"""
import sys
for done in range(0, 101, 4):
    sys.stdout.write(f"\r\x1b[2K\x1b[36mFetching\x1b[0m toolchain [{'#' * (done // 4):<25}] {done:3d}% {done * 0.41:.1f} MB")
print()
for number, name in enumerate(sys.argv[1:], 1):
    print(f"\x1b[32m✓\x1b[0m compiled \x1b[1msrc/{name}.py\x1b[0m")
print("\n\n\n\x1b[33mwarning\x1b[0m: no licence field\nbuilt dist/tool.pyz")
"""


def project() -> dict[str, str]:
    """path -> text of the files that the day begins with."""
    files = {f"src/{name}.py": inspect.getsource(import_module(module)) for name, module in MODULES.items()}
    names = re.findall(r"    def (\w+)", files["src/lexer.py"])
    cases = [
        f"def test_{name.strip('_')}_{n}():\n    lexed = given({n})\n    assert lexed.{name} == wanted[{n * 3}]\n"
        for name in names
        for n in range(4)
    ]
    files["tests/test_lexer.py"] = "import src.lexer\n\n\n" + "\n\n".join(cases)
    files["run_tests.py"] = RUN_TESTS
    files["build.py"] = BUILD
    files["server.log"] = "".join(map(_logged, range(260)))
    return files


def _logged(number: int) -> str:
    time = f"2026-03-0{1 + number // 100} 10:{number // 60 % 60:02d}:{number % 60:02d}.{number * 37 % 1000:03d}"
    if number % 29:
        return f"{time} INFO  flushed {number * 13 % 97} rows of batch {number * 2654435761 % 16**8:08x}\n"
    return f"{time} WARN  queue for {sorted(MODULES)[number % 13]} is long\n"


class Script:
    """Steps of one script, while the files change under them."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files
        self.steps: list[Step] = []

    def do(self, *calls: Call) -> None:
        """One step; now and then something is thought before it."""
        number = len(self.steps)
        self.steps.append(
            call(*calls, text="" if number % 3 else f"Step {number}.", thinking=(thought(f"So {number}."),) if not number % 4 else ())
        )

    def sh(self, *commands: str) -> None:
        """Commands, each in a step of its own."""
        for command in commands:
            self.do(bash(command))

    def read(self, *names: str) -> None:
        """Files in whole, in one step."""
        self.do(*(("Read", {"file_path": place(name)}) for name in names))

    def part(self, name: str, start: float, end: float) -> None:
        """What stands between two places of a file, as shares of it."""
        lines = len(self.files[path(name)].splitlines())
        first = int(lines * start) + 1
        self.do(("Read", {"file_path": place(name), "offset": first, "limit": int(lines * end) - first}))

    def edit(self, name: str, *shares: float, lines: int = 3) -> None:
        """Some lines at each of these places get another one; all in steps of their own."""
        for share in shares:
            text = self.files[path(name)]
            old = _unique(text, share, lines)
            new = old + f"\n# {name}: looked at {len(self.steps)}, see above"
            self.files[path(name)] = text.replace(old, new)
            self.do(("Edit", {"file_path": place(name), "old_string": old, "new_string": new}))

    def write(self, name: str, text: str) -> None:
        """A new file, or a file anew."""
        self.files[path(name)] = text
        self.do(("Write", {"file_path": place(name), "content": text}))

    def played(self, last: str) -> list[Step]:
        """The steps with the last word, for the scripted API; what comes after begins with none."""
        steps, self.steps = self.steps, []
        return [*steps, say(last)]


def path(name: str) -> str:
    """Where a file of the project is."""
    return name if "." in name else f"src/{name}.py"


def place(name: str) -> str:
    """The same as a script says it."""
    return "{work}/" + path(name)


def bash(command: str) -> Call:
    """A command in the project."""
    return "Bash", {"command": command}


def agent(script: str) -> Call:
    """A subagent that plays a script."""
    prompt = f"Look into it [[SCRIPT:{script}]]"
    return "Agent", {"description": script, "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": False}


def outset(day: Script) -> list[Step]:
    """8 calls: a bug in the lexer."""
    day.read("lexer")
    day.read("console", "jobs")
    day.sh("python3 run_tests.py")
    day.edit("lexer", 0.45)
    day.part("lexer", 0.15, 0.8)
    day.edit("lexer", 0.2, 0.7)
    return day.played("the outset is done")


def morning(day: Script) -> list[Step]:
    """40 calls: getting to know the project, a bug in the lexer, two subagents, then other files."""
    day.sh("ls -la src tests | cut -c1-10,45-", 'grep -rn "def " src')
    day.read("lexer")
    day.read("console", "jobs")
    day.sh("python3 run_tests.py")
    day.part("lexer", 0.3, 0.6)
    day.edit("lexer", 0.45)
    day.sh("python3 run_tests.py -v 2>&1 | tail -n 90")
    day.read("tests/test_lexer.py")
    day.edit("lexer", 0.2)
    day.part("lexer", 0.15, 0.8)
    day.edit("lexer", 0.7)
    day.do(agent("left"), agent("right"))
    day.sh("python3 run_tests.py; true", "git diff")
    day.edit("tests/test_lexer.py", 0.5)
    day.sh('grep -n "class \\|raise " src/*.py')
    day.read("order", "compared")
    day.sh("python3 build.py lexer jobs console shelf", "tail -n 120 server.log")
    day.read("shelf", "schedule")
    day.edit("shelf", 0.4)
    day.part("shelf", 0.3, 0.8)
    day.edit("shelf", 0.6)
    day.sh("python3 run_tests.py -v; true", "git status --short", "sed -n 40,120p src/shelf.py")
    day.read("jobs")
    day.edit("jobs", 0.3, 0.62, lines=5)
    day.part("jobs", 0.25, 0.7)
    day.sh("python3 run_tests.py")
    day.part("console", 0.4, 0.7)
    day.edit("console", 0.55)
    day.sh("python3 run_tests.py | tail -n 40")
    day.write("NOTES.md", "".join(f"{n}. what was found in {name}, and where it leads\n" for n, name in enumerate(sorted(MODULES) * 2)))
    return day.played("the morning is done")


def afternoon(day: Script) -> list[Step]:
    """40 calls: a second feature across the same files, its tests, a release."""
    day.sh("git log --oneline | cut -d' ' -f2-", 'grep -n "queue\\|Queue" src/*.py')
    day.read("matching", "timing")
    day.read("schedule")
    day.edit("schedule", 0.5)
    day.edit("jobs", 0.8)
    day.sh("python3 run_tests.py")
    day.read("bundle", "indents")
    day.edit("bundle", 0.35)
    day.part("bundle", 0.2, 0.7)
    day.edit("bundle", 0.6)
    day.sh("sed -n 30,90p src/jobs.py")
    day.sh("python3 run_tests.py -v | tail -n 100", "cat src/schedule.py")
    day.edit("schedule", 0.25)
    day.read("console")
    day.edit("console", 0.3, 0.75)
    day.part("lexer", 0.4, 0.9)
    day.edit("lexer", 0.6)
    day.sh("python3 run_tests.py", "git diff src/lexer.py src/console.py", "python3 build.py bundle matching shell")
    day.read("shell", "options")
    day.edit("shell", 0.5)
    day.read("shell")
    day.sh("tail -n 150 server.log", 'grep -rn "def " src')
    day.write("src/report.py", day.files["src/schedule.py"].replace("scheduler", "reporter"))
    day.part("report", 0.3, 0.7)
    day.edit("report", 0.5)
    day.read("tests/test_lexer.py")
    day.edit("tests/test_lexer.py", 0.8)
    day.part("jobs", 0.2, 0.6)
    day.sh("python3 run_tests.py -v", "git diff --stat", "ls src; ls missing")
    return day.played("the afternoon is done")


def evening(day: Script, name: str) -> list[Step]:
    """What is done after a compaction, or after a resume: nothing of the day stands in the context, then a little."""
    day.read("lexer")
    day.edit("lexer", 0.5)
    day.read("lexer")
    day.sh("python3 run_tests.py", "python3 run_tests.py")
    return day.played(f"the {name} is done")


def detour(day: Script) -> list[Step]:
    """What shows files anew and changes none."""
    day.read("jobs", "timing")
    day.read("lexer", "options")
    return day.played("the detour is done")


def look(first: str, second: str) -> list[Step]:
    """What a subagent does: it reads two files, one of them twice."""
    day = Script(project())
    day.read(first)
    day.sh(f'grep -n "def " src/{second}.py')
    day.read(second)
    day.part(first, 0.2, 0.8)
    day.sh(f"cat src/{first}.py")
    return day.played(f"looked into {first} and {second}")


class Played(NamedTuple):
    """Scripts by name · `files`: what the project holds when those of the main thread were played, in their order."""

    scripts: dict[str, list[Step]]
    files: dict[str, str]


def whole_day() -> Played:
    """Morning and afternoon, 80 calls; evening and night, after a compaction and a resume; two subagents."""
    return _day("morning", "afternoon", "evening", "night")


def half_a_day() -> Played:
    """The same without the afternoon; and a detour that a rewind takes back."""
    return _day("morning", "detour", "evening", "night")


def some_hours() -> Played:
    """The same with the outset instead of the morning, and without subagents."""
    return _day("outset", "detour", "evening", "night", agents={})


def _day(*names: str, agents: dict[str, tuple[str, str]] = AGENTS) -> Played:
    parts = {"outset": outset, "morning": morning, "detour": detour, "afternoon": afternoon}
    day = Script(project())
    scripts = {name: parts[name](day) if name in parts else evening(day, name) for name in names}
    return Played({**scripts, **{name: look(*files) for name, files in agents.items()}}, day.files)


def calls_of(steps: Iterable[Step]) -> list[Call]:
    """All calls of some steps."""
    return [one for step in steps for one in step.calls]


def lay_out(home: ClientHome) -> None:
    """Writes and commits the project's files."""
    work = home.work
    for name, text in project().items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.invalid", "-c", "commit.gpgsign=false"]
    for command in (["add", "-A"], ["commit", "-q", "-m", "the modules"]):
        subprocess.run(["git", *identity, *command], cwd=work, env=home.env(), check=True, timeout=HANG_S)


def _unique(text: str, share: float, lines: int) -> str:
    """That many lines at a place of a text, and as many more as it takes for them to stand there once."""
    rows = text.splitlines()
    first = int(len(rows) * share)
    for last in range(first + lines, len(rows)):
        old = "\n".join(rows[first:last])
        if old.strip() and text.count(old) == 1:
            return old
    raise ValueError(f"no lines at {share} that stand there once")
