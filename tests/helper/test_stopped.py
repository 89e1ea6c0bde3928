"""A helper that stands still (stopped, swapped out, a laptop that slept) keeps nobody waiting, whatever it holds."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hooks.utils.io.files import LOCK_WAIT_S
from tests.kit.crowds import held
from tests.paths import PYTHONPATH

from .asking import ROOT, SESSION, Helper, lines


@pytest.fixture
def stopped(helper: Helper) -> Iterator[Helper]:
    """A helper that was stopped, and all locks of its session held by somebody who will not let go either."""
    helper.has_read("app.py", lines(40))
    helper.read("app.py", lines(40))
    helper.ask("/view", {})
    helper.process.send_signal(signal.SIGSTOP)
    locks = sorted(map(str, (helper.home / "sessions" / SESSION).glob("*.lock")))
    assert locks
    with held(helper.home / "archive.sqlite", *locks):
        yield helper
    helper.process.send_signal(signal.SIGCONT)


WORDS = {
    "context retention": "Retention status", "context timeline": "Tool call timeline", "context stats": "Retention efficiency",
    "context why 1": "Read app.py", "context clear --dry-run": "", "context pin 1": "",
}  # fmt: skip


def test_popkit_context_answers(stopped: Helper):
    with ThreadPoolExecutor(len(WORDS)) as at_once:
        told = at_once.map(lambda words: stopped.run(*words.split(), "--transcript", str(stopped.transcript)), WORDS)
        assert {words: expected for (words, expected), said in zip(WORDS.items(), told) if expected not in said} == {}


def test_popkit_context_waits_once_for_all_that_is_held(stopped: Helper):
    code = (
        "import os, sys; from hooks.utils.io import files; from popkit_retention.cli.main import main;"
        " main(['context', *sys.argv[1:]], os.environ); print('left', files.patience.left_s)"
    )
    asked = ["retention", "--transcript", str(stopped.transcript)]
    done = subprocess.run(
        [sys.executable, "-c", code, *asked],
        env={**stopped.env, "PYTHONPATH": PYTHONPATH},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Retention status" in done.stdout
    assert done.stdout.splitlines()[-1] == "left 0.0", f"of {LOCK_WAIT_S} s, which is what one lock may take"


def test_every_other_command_comes_back(stopped: Helper):
    asked = ["doctor", "try", "statusline", "archive list", "restore aaaaaaaa", "uninstall --dry-run", "memory list"]
    with ThreadPoolExecutor(len(asked)) as at_once:
        list(at_once.map(lambda words: stopped.run(*words.split()), asked))
    assert stopped.process.poll() is None
