"""A process that has collected tests once, and tries each mutant in a fork of itself.

    python worker.py PYTEST-ARGUMENTS    # in a copy of the repository, which the mutants may break

It reads a line of JSON for each job from stdin, and answers each by another. The first job has the folders whose lines count, and may have
`seen_s`, after which no more tests are run to see their lines, so that those are not tried, and `tests_s`, which the tests for a mutant may
take together, the quickest first (seconds); its answer says which tests there are, fail as the copy is, or were skipped. Each other job is
a mutant: a file that is broken already, the lines that are asked about and the function that they stand in. The answer says whether a test
failed, or which tests are to be tried in a new process, because what is broken has already been run by an import.

It imports nothing of the repository, so that all that it tests comes from the copy.
"""

from __future__ import annotations

import functools
import gc
import itertools
import json
import os
import re
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import coverage
import pytest

NOTICED, SURVIVED, TOO_LONG = "noticed", "survived", "took too long"


class Worker:
    """The pytest plugin that answers jobs in place of running tests."""

    def __init__(self, asked: Iterator[dict], answer: Callable[[object], None], first: dict):
        self._asked, self._answer = asked, answer
        self._outcome = ""
        self._seen_s, self._tests_s = (float("inf") if first[name] is None else first[name] for name in ("seen_s", "tests_s"))
        of_these = {"config_file": False, "include": [f"{folder}/*" for folder in first["folders"]]}
        self._imported = coverage.Coverage(data_file=None, **of_these)
        self._seen = coverage.Coverage(data_file=f"lines-of-tests-{os.getpid()}", **of_these)
        self._imported.start()
        # Functions that a test runs in forks of tests/kit, by file and first line; and the tests that start other processes.
        self._elsewhere: dict[str, set[str]] = {}
        self._blind: set[str] = set()
        self._watches: list[set[str]] = []

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Laws are tried with the same examples each time; which one is the smallest that fails, nobody asks."""
        # tests/conftest.py skips what starts a process with --fast; it may not take the forks here for a test's.
        self._watches = [plugin.STARTS for plugin in config.pluginmanager.get_plugins() if hasattr(plugin, "STARTS")]
        hypothesis = sys.modules.get("hypothesis")
        if hypothesis:
            phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
            parent = hypothesis.settings.get_profile(hypothesis.settings.get_current_profile_name())
            hypothesis.settings.register_profile("mutants", parent=parent, derandomize=True, database=None, phases=phases)
            hypothesis.settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._imported.stop()
        # Folders in the order in which they are asked for: there may not be the time for all of them.
        places = {argument.rstrip("/"): place for place, argument in enumerate(session.config.args)}
        items = {item.nodeid: item for item in sorted(session.items, key=lambda item: places.get(_folder(item), 0))}
        ended = self._map(items)
        self._answer(
            {
                "tests": list(items),
                **{how: [name for name, test in ended.items() if test["outcome"] == how] for how in ("failed", "skipped")},
            }
        )
        fit = {name: test["seconds"] for name, test in ended.items() if test["outcome"] == "passed"}
        for job in self._asked:
            self._answer(self._tried(job, items, fit))
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed" and self._outcome != "failed":
            self._outcome = report.outcome

    def _map(self, items: dict[str, pytest.Item]) -> dict[str, dict]:
        """How each test ends, and which lines it runs, seen in a fork: mutants find nothing that tests leave behind."""
        said = Path(f"said-of-tests-{os.getpid()}")
        pid = self._fork()
        if pid == 0:
            self._seen.start()
            ended = self._ended(items)
            self._seen.stop()
            self._seen.save()
            said.write_text(json.dumps(ended))
            os._exit(0)
        os.waitpid(pid, 0)
        self._seen.load()
        ended = json.loads(said.read_text())
        for name, test in ended.items():
            for function in test["functions"]:
                self._elsewhere.setdefault(function, set()).add(name)
            if test["starts"]:
                self._blind.add(name)
        return ended

    def _ended(self, items: dict[str, pytest.Item]) -> dict[str, dict]:
        noted = Path(f"functions-of-forks-{os.getpid()}")
        noted.touch()
        os.environ["POPKIT_TEST_FUNCTIONS"] = str(noted.resolve())
        started: list[object] = []
        sys.addaudithook(lambda event, given: started.append(given[1]) if event == "subprocess.Popen" else None)
        ended, until = {}, time.monotonic() + self._seen_s
        with noted.open() as functions:
            for item, then in _in_pairs(items.values()):
                if time.monotonic() > until:
                    break
                self._seen.switch_context(item.nodeid)
                began = time.monotonic()
                started.clear()
                self._run(item, then)
                # They load our code by a link, where a module has another path.
                ran = [":".join((_real(file), first)) for file, first in (name.rsplit(":", 1) for name in functions.read().split())]
                starts = any("git" not in argv[:1] and "tests.kit.forking" not in argv for argv in started)
                ended[item.nodeid] = {
                    "outcome": self._outcome, "seconds": time.monotonic() - began, "functions": ran, "starts": starts,
                }  # fmt: skip
        return ended

    def _run(self, item: pytest.Item, then: pytest.Item | None) -> None:
        self._outcome = "passed"
        item.ihook.pytest_runtest_protocol(item=item, nextitem=then)

    def _tried(self, job: dict, items: dict[str, pytest.Item], fit: dict[str, float]) -> dict:
        file = str(Path(job["file"]).resolve())
        lines = self._seen.get_data().contexts_by_lineno(file)
        if job["function"] is None or {*job["lines"]} & {*(self._imported.get_data().lines(file) or ())}:
            # What its import made is used by whoever runs a line of the module, or names it to read what it has; of a table without a
            # function by nobody knows whom.
            near = {test for tests in lines.values() for test in tests}.union(
                *(self._elsewhere[name] for name in self._elsewhere if name.startswith(file + ":"))
            )
            near |= {test for test in fit if near and Path(file).stem in _words(items[test].path)}
            return {"anew": self._quickest(near | self._blind if near else {*fit}, fit)}
        running = {test for line in job["lines"] for test in lines.get(line, ())}
        running |= self._elsewhere.get(f"{file}:{job['function'][1]}", set()) | self._blind
        tests = self._quickest(running, fit)
        return {"ended": self._fails(job, [items[test] for test in tests]), "tests": len(tests)}

    def _quickest(self, tests: set[str], fit: dict[str, float]) -> list[str]:
        """The tests that are fit, the quickest first, as many as there is time for."""
        ordered = sorted(tests & fit.keys(), key=lambda test: fit[test])
        together = itertools.accumulate(fit[test] for test in ordered)
        return [test for test, seconds in zip(ordered, together) if seconds <= self._tests_s]

    def _fails(self, job: dict, tests: list[pytest.Item]) -> str:
        """How the tests end with a mutant."""
        pid = self._fork()
        if pid == 0:
            os.setpgid(0, 0)
            _swap(Path(job["file"]).resolve(), *job["function"])
            for item, then in _in_pairs(tests):
                self._run(item, then)
                if self._outcome == "failed":
                    os._exit(1)
            os._exit(0)
        until = time.monotonic() + job["seconds"]
        while time.monotonic() < until:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                # What a mutant ended otherwise (a signal, an exit of its own) did not pass.
                return NOTICED if status else SURVIVED
            time.sleep(0.005)
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return TOO_LONG

    def _fork(self) -> int:
        kept = [set(names) for names in self._watches]
        for names in self._watches:
            names.clear()
        try:
            return os.fork()
        finally:
            for names, before in zip(self._watches, kept):
                names.update(before)


@functools.cache
def _words(path: Path) -> set[str]:
    return set(re.findall(r"\w+", path.read_text(encoding="utf-8")))


@functools.cache
def _real(file: str) -> str:
    return os.path.realpath(file)


def _folder(item: pytest.Item) -> str:
    return "/".join(item.nodeid.split("/")[:2])


def _swap(file: Path, name: str, first: int) -> None:
    """Give the function the code that it has in the file now, under whatever names it is known."""
    code = _code_of(compile(file.read_bytes(), str(file), "exec", dont_inherit=True), name.split("."), first)
    gc.unfreeze()
    for known in gc.get_objects():
        if type(known) is not types.FunctionType or known.__qualname__ != name or known.__code__.co_firstlineno != first:
            continue
        if os.path.realpath(known.__code__.co_filename) == str(file):
            known.__code__ = code


def _code_of(code: types.CodeType, names: list[str], first: int) -> types.CodeType:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType) and constant.co_name == names[0]:
            if len(names) > 1:
                return _code_of(constant, names[1:], first)
            if constant.co_firstlineno == first:
                return constant
    raise LookupError(names, first)


def _in_pairs(items) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Each test, and the one behind it, for which what they share is kept."""
    items = list(items)
    return zip(items, [*items[1:], None])


def main() -> int:
    # What tests print is for nobody.
    answers = os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    # And what they read: nothing, as at a script's.
    asked = os.fdopen(os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.path[0] = ""  # the copy, in place of this file's folder
    jobs = (json.loads(line) for line in asked)

    def answer(said: object) -> None:
        answers.write(json.dumps(said) + "\n")
        answers.flush()

    worker = Worker(jobs, answer, next(jobs))
    return int(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[worker]))


if __name__ == "__main__":
    sys.exit(main())
