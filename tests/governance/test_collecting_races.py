"""Several processes collect the same domain at once, while another one holds what they are about to delete."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.governance.case import KINDS, Case
from tests.governance.kept import NOW
from tests.paths import PYTHONPATH, ROOT

COLLECTS = """
import sys
from tests.governance.collecting import gc
print("ready", flush=True)
sys.stdin.read()
gc(sys.argv[1], sys.argv[2], 5, float(sys.argv[3]))
"""
HOLDS = """
import os, sys
from popkit_retention.governance.controller import Controller
print("ready", flush=True)
sys.stdin.read()
held = []
with Controller(os.environ, now=lambda: float(sys.argv[3])) as controller:
    for id in sys.argv[4:]:
        try:
            controller.add_hold(sys.argv[2], "item", id, "Ada", "the audit")
        except LookupError:
            break  # it is gone already
"""


@pytest.mark.parametrize("kind", KINDS)
def test_what_many_collect_is_deleted_and_logged_once_and_nothing_after_it_was_held(tmp_path: Path, kind: str, count):
    case = Case(tmp_path, kind, 40)
    env = {**os.environ, **case.world(), "PYTHONPATH": PYTHONPATH}
    # The collections take the oldest first, the holds come from the other end.
    due = [id for id in case.ids if id in case.due]
    words = [[COLLECTS]] * count(3, 12) + [[HOLDS]]
    started = [
        subprocess.Popen([sys.executable, "-c", script, str(case.home), kind, str(NOW), *reversed(due)], cwd=ROOT, env=env,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for [script] in words
    ]  # fmt: skip
    for process in started:
        assert process.stdout.readline() == b"ready\n"
    for process in started:
        process.stdin.close()
    for process in started:
        process.wait()
        assert process.stderr.read() == b""
        process.stdout.close()
        process.stderr.close()
    with case.desk() as desk:
        case.check_log(desk)
        left = set(case.data(desk))
        assert left >= case.ready | case.young
        marked = Counter(id for ids in desk.logged("marked") for id in ids)
        assert marked == Counter(case.due | case.ready), "nothing is marked twice"
        held: set[str] = set()
        gone: set[str] = set()
        for entry in reversed(desk.log.entries()):
            held.update(set(entry.ids) - gone if entry.action == "held" else ())
            gone.update(entry.ids if entry.action == "deleted" else ())
        assert not held & gone, "what was held in time is not deleted any more"
        assert held <= left
        desk.gc(NOW)
        assert set(case.data(desk)) == held | case.ready | case.young
    case.check_folder()
