"""A session that ends leaves a ledger that knows all of its requests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hooks.utils.state import journal, session, store
from tests.patience import HANG_S
from tests.views.written import Written

ROOT = Path(__file__).resolve().parents[2]


def _hook(name: str, made: Written, home: Path, **more: str) -> None:
    payload = {"session_id": made.session, "transcript_path": str(made.path), "cwd": made.project, **more}
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home.parent), "POPKIT_HOME": str(home), "POPKIT_CLOCK": str(made.now)}
    command = [sys.executable, "-S", "-E", str(ROOT / "hooks" / f"{name}.py")]
    done = subprocess.run(command, env=env, input=json.dumps(payload).encode(), capture_output=True, timeout=HANG_S, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("booked", [True, False])
def test_at_its_end_what_was_booked_is_settled(tmp_path: Path, booked: bool) -> None:
    made, home = Written(tmp_path / "p"), tmp_path / "popkit"
    made.say("go")
    id = made.grep("one")
    _hook("session-start", made, home, source="startup", hook_event_name="SessionStart")
    if booked:
        entry = journal.entered(id, [], "abcd2345", 9_000, 1_000, 300, ["noise"], made.now - 1)
        store.journal(made.site(home).paths(), entry)
    made.grep("two")
    made.ends()
    _hook("session-end", made, home, reason="prompt_input_exit", hook_event_name="SessionEnd")
    counts = session.stored_state(made.site(home).paths()).counts
    if booked:
        assert counts.settled == made.path.stat().st_size
        assert counts.ledger["saved_kept_out"] > 0
        assert counts.days
    else:
        assert counts.ledger == counts.days == {}
