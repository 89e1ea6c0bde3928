"""A sample of the mutants of packages, tried with the packages' tests.

A package's tests are those of the folder of `tests` that has its name (`hooks/utils/policy/door`: `tests/policy`). A mutant is tried with
the tests of --fast that run its line in their own process (worker.py; of what an import makes, those that run a line of the module, or name
it), then, if they all pass, with those that --fast leaves out, and at last with the tests of --fast of the other folders that name the
package: with the quickest of those that run its line, OTHERS_S of them, where lines are seen for SEEN_S. What that can miss: a slower test
of another folder, or one that starts a process. Such a mutant counts as one that survives.

cosmic-ray and mutmut have licences that would do. The first knows neither samples nor which tests run a line, and starts pytest for each
mutant (two seconds here); the second changes only bodies of functions, not the tables that most of our rules are, and wants a layout of its
own.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.mutants.arguments import ARGUMENTS, Argument
from tests.mutants.mutations import Mutation, mutations
from tests.mutants.worker import NOTICED, SURVIVED, TOO_LONG

CODE = ("hooks", "power-mode")
ARGUED = "argued"
# A mutant may take ten times as long as a test's usual minute; one that never ends is noticed by whoever waits for it.
LIMIT_S = 180.0
# Of the tests of other folders: how long they are run to see which run a line, and how long a mutant is tried with those that do.
SEEN_S, OTHERS_S = 300.0, 30.0
_SECONDS = itertools.count(1_000_000_000)  # when mutants are said to be written: long ago, no two at once


class Tried(NamedTuple):
    mutation: Mutation
    ended: str
    """NOTICED, SURVIVED, TOO_LONG (which somebody notices, too) or ARGUED: it survives, and nobody could tell it from the code as it is."""
    tests: int
    """How many there were to notice it."""
    seconds: float

    @property
    def survives(self) -> bool:
        return self.ended == SURVIVED


def tests_of(root: Path, file: str) -> str | None:
    """The folder of tests for a module: the deepest part of its path that `tests` has a folder for."""
    parts = Path(file).parts[:-1]
    return next((f"tests/{part}" for part in reversed(parts) if (root / "tests" / part).is_dir()), None)


def others_of(root: Path, tests: str) -> list[str]:
    """The other folders of tests of which a module imports something of the package, those where most do first."""
    names = re.compile(rf"^ *(?:from|import) .*\b{Path(tests).name}\b", re.MULTILINE)
    counts = {
        folder: sum(bool(names.search(path.read_text(encoding="utf-8"))) for path in folder.rglob("*.py"))
        for folder in sorted((root / "tests").iterdir())
        if folder.is_dir() and folder != root / tests
    }
    return [folder.relative_to(root).as_posix() for folder in sorted(filter(counts.get, counts), key=counts.get, reverse=True)]


def modules(root: Path, package: str) -> list[str]:
    """The modules of a package, which is named by its path, or the end of it."""
    found = [path for top in CODE for path in sorted((root / top).rglob("*.py")) if not path.is_symlink()]
    names = [path.relative_to(root).as_posix() for path in found]
    return [name for name in names if f"/{package.strip('/')}/" in f"/{name}"]


def changed_lines(root: Path, revision: str) -> dict[str, set[int]]:
    """The lines of code that are not as they were at a revision, by module."""
    command = ["git", "-c", "core.quotePath=false", "diff", "--unified=0", "--no-color", "--no-ext-diff", revision, "--", *CODE]
    file, lines = "", {}
    for line in subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", check=True).stdout.splitlines():
        if line.startswith("+++ "):
            file = line[6:]
        elif line.startswith("@@ ") and file.endswith(".py"):
            first, _, count = line.split()[2][1:].partition(",")
            lines.setdefault(file, set()).update(range(int(first), int(first) + int(count or 1)))
    return lines


def population(root: Path, files: Iterable[str], lines: dict[str, set[int]] | None = None) -> list[Mutation]:
    """All mutations of these modules, or of these lines of theirs, for which there are tests."""
    found = []
    for file in files:
        if tests_of(root, file):
            of_file = mutations(file, (root / file).read_bytes())
            found += [one for one in of_file if lines is None or {one.line, one.statement} & lines[file]]
    return found


def sample(everything: list[Mutation], count: int, seed: int) -> list[Mutation]:
    return random.Random(seed).sample(everything, min(count, len(everything)))


def argument_for(mutation: Mutation) -> Argument | None:
    return next((one for one in ARGUMENTS if (one.file, one.line, one.change) == (mutation.file, mutation.text, mutation.change)), None)


def tried(root: Path, mutants: list[Mutation], flags: tuple[str, ...] = ("--fast",), seconds: float = float("inf")) -> Iterator[Tried]:
    """Try mutants, those of one folder of tests after another, until so many seconds have passed. What has survived the tests of --fast
    until then is tried with the rest all the same: a share of those that were begun means something."""
    until = time.monotonic() + seconds
    folders: dict[str, list[Mutation]] = {}
    for mutation in mutants:
        folders.setdefault(tests_of(root, mutation.file), []).append(mutation)
    # In memory: tests sync much of what they write.
    memory = Path("/dev/shm") if "TMPDIR" not in os.environ and os.access("/dev/shm", os.W_OK) else None  # noqa: S108  a folder of its own
    with tempfile.TemporaryDirectory(dir=memory) as scratch:
        copy = _copy(root, Path(scratch, "copy"))
        for tests, of_these in folders.items():
            if time.monotonic() < until:
                with _Trial(copy, tests, of_these, flags) as trial:
                    survive = []
                    for mutation in of_these:
                        if time.monotonic() < until:
                            one = trial.of(mutation)
                            if one.survives:
                                survive.append(one)
                            else:
                                yield one
                    for again in (trial.with_more, trial.with_others):
                        still = []
                        for one in map(again, survive):
                            if one.survives:
                                still.append(one)
                            else:
                                yield one
                        survive = still
                    yield from survive


def _copy(root: Path, to: Path) -> Path:
    """What git knows of, as it is on disk, and what is installed."""
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=root, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (root / name).exists() or (root / name).is_symlink():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name, follow_symlinks=False)
    for name in (".cache", ".venv"):
        if (root / name).exists():
            (to / name).symlink_to(root / name)
    subprocess.run(["git", "init", "-q"], cwd=to, check=True)
    return to


class _Trial:
    """The tests of one folder, with which mutants are tried."""

    def __init__(self, copy: Path, tests: str, mutants: list[Mutation], flags: tuple[str, ...]):
        self._copy, self._tests, self._flags = copy, tests, flags
        self._folders = sorted({str(copy / Path(mutation.file).parent) for mutation in mutants})
        self._scratch = Path(tempfile.mkdtemp(dir=copy.parent))
        self._first = _Worker(copy, self._scratch, self._folders, [*flags, tests])
        self._rest: _Worker | None = None
        self._others: _Worker | None = None

    def __enter__(self) -> _Trial:
        return self

    def __exit__(self, *ended: object) -> None:
        for worker in (self._first, self._rest, self._others):
            if worker:
                worker.close()

    def of(self, mutation: Mutation) -> Tried:
        return self._tried(mutation, self._first)

    def with_more(self, one: Tried) -> Tried:
        """Try what has survived with the tests that --fast leaves out."""
        if not self._first.skipped:
            return one
        if not self._rest:
            listed = self._copy.parent / f"skipped-{self._scratch.name}"
            listed.write_text("\n".join(self._first.skipped))
            self._rest = _Worker(self._copy, self._scratch, self._folders, [f"@{listed}"])
        return self._again(one, self._rest)

    def with_others(self, one: Tried) -> Tried:
        """Try what has survived with tests of other folders."""
        others = others_of(self._copy, self._tests)
        if not others:
            return one
        if not self._others:
            self._others = _Worker(self._copy, self._scratch, self._folders, [*self._flags, *others], seen_s=SEEN_S, tests_s=OTHERS_S)
        return self._again(one, self._others)

    def _again(self, one: Tried, worker: _Worker) -> Tried:
        more = self._tried(one.mutation, worker)
        return more._replace(tests=one.tests + more.tests, seconds=one.seconds + more.seconds)

    def _tried(self, mutation: Mutation, worker: _Worker) -> Tried:
        began = time.monotonic()
        broken = self._copy / mutation.file
        source, stat = broken.read_bytes(), broken.stat()
        # Python takes byte code for that of a source of the same size and second.
        broken.write_bytes(mutation.applied(source))
        os.utime(broken, (next(_SECONDS),) * 2)
        ended, tests = worker.of(mutation)
        broken.write_bytes(source)
        os.utime(broken, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        for left in self._scratch.iterdir():
            shutil.rmtree(left, ignore_errors=True)
        return Tried(mutation, ARGUED if ended == SURVIVED and argument_for(mutation) else ended, tests, time.monotonic() - began)


class _Worker:
    """A process of worker.py; `seen_s`, `tests_s`: as it takes them."""

    def __init__(
        self, copy: Path, scratch: Path, folders: list[str], arguments: list[str], seen_s: float | None = None, tests_s: float | None = None
    ):
        self._copy, self._scratch, self._flags = copy, scratch, [word for word in arguments if word.startswith("-")]
        command = [sys.executable, str(Path(__file__).with_name("worker.py")), *arguments]
        self._process = subprocess.Popen(
            command, cwd=copy, env=self._environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            self.skipped: list[str] = self._ask({"folders": folders, "seen_s": seen_s, "tests_s": tests_s})["skipped"]
        except BaseException:
            self.close()
            raise

    @property
    def _environ(self) -> dict[str, str]:
        return {**os.environ, "TMPDIR": str(self._scratch), "POPKIT_OFFLINE": "1"}

    def close(self) -> None:
        """End the process with its forks, which may be in the middle of a job when the sampler itself is ended."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def _ask(self, job: dict) -> dict:
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"the tests ended with {self._process.wait()}, in {self._copy}: {shlex.join(self._process.args)}")
        return json.loads(answer)

    def of(self, mutation: Mutation) -> tuple[str, int]:
        """How the tests end with a mutant, and how many there were to notice it."""
        job = {"file": mutation.file, "lines": [mutation.line, mutation.statement], "function": mutation.function, "seconds": LIMIT_S}
        answer = self._ask(job)
        return (answer["ended"], answer["tests"]) if "ended" in answer else (self._anew(answer["anew"]), len(answer["anew"]))

    def _anew(self, tests: list[str]) -> str:
        """How these tests end in a process that imports the mutant."""
        if not tests:
            return SURVIVED
        listed = self._scratch / "tests"
        listed.write_text("\n".join(tests))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *self._flags, f"@{listed}"]
        try:
            ran = subprocess.run(command, cwd=self._copy, env=self._environ, capture_output=True, timeout=LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            return TOO_LONG
        return NOTICED if ran.returncode else SURVIVED
