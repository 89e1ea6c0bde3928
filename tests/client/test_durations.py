"""In the real client: tests that run again and differ only in how long they took enter as one line, and every digit comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import reference_decoder as reading

from . import installs
from .client import ClientHome
from .scripted_api import ScriptedApi, call, say
from .test_mod import Session

# What `npm test` runs there; what each run printed is in runs.txt.
TEST_JS = """
const printed = require('node:child_process').execFileSync('node', ['--test', '--test-reporter=spec', 'shop.test.js']);
require('node:fs').appendFileSync('runs.txt', printed + '\\0');
process.stdout.write(printed);
"""
TESTS = (
    "const test = require('node:test');\nfor (let at = 1; at <= 40; at++) test(`adds item ${at} and its price to the basket`, () => {});\n"
)
RUN = call(("Bash", {"command": "npm test"}))


@pytest.fixture
def session(clients: dict[str, installs.Installed], tmp_path: Path, api: ScriptedApi) -> Session:
    return Session(ClientHome(tmp_path, clients["newest"], api.url), api)


def test_tests_that_pass_again_enter_as_a_reference_that_says_what_differs(session: Session):
    work = session.home.work
    (work / "test.js").write_text(TEST_JS)
    (work / "shop.test.js").write_text(TESTS)
    session.api.scripts["tests"] = [RUN, RUN, call(("Bash", {"command": "ls"})), RUN, say("done")]
    session.play("go [[SCRIPT:tests]]")
    first, second, _, third = session.results()
    print(first, second, third, sep="\n-----\n")
    assert first.count("✔ adds item ") == 40
    runs = [run.rstrip("\n") for run in (work / "runs.txt").read_text().split("\0")]
    entries = session.entered()
    for entered, entry, run in zip((second, third), entries, runs[1:]):
        assert [one["but"] is not None for _, one in reading.references(entered)] == [True]
        assert entered.count("✔ adds item ") <= 4
        assert entered.split("\n")[-1] == run.split("\n")[-1], "the last line is that run's own"
        assert session.popkit_says("restore", entry["handle"]).rstrip("\n").endswith("\n" + run)
        assert entry["reasons"][0].endswith(" lines that the context already shows, but for durations")
    assert len(entries) == 2
    assert session.log() == ""
