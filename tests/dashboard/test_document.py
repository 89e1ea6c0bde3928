"""The OpenAPI document is true: schemathesis asks the real server whatever it allows, and what it does not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.operations.stores import Place
from tests.dashboard.served import Served
from tests.patience import HANG_S

SEED = 20260105


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """With a session of which something was cleared, a memory and a hold."""
    served = Served(tmp_path)
    id = served.worked()
    served.deed("clear")
    served.post("/api/retention/deeds", {"id": "hold", "session": id, "why": "audit"})
    with Place(served.shop.environ(), str(served.shop.project)) as place:
        place.project.turn_on(served.shop.at)
        place.memory.add("Run the tests with make check.")
    yield served
    served.close()


@pytest.mark.skipif(sys.version_info < (3, 10), reason="schemathesis needs Python 3.10")
def test_schemathesis_finds_nothing(served: Served, count, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    tokens = (f"Authorization:Bearer {served.access.token}", f"X-PopKit-Change:{served.access.change_token}")
    command = [
        str(Path(sys.prefix) / "bin" / "schemathesis"), "run", f"http://127.0.0.1:{served.port}/api/openapi.json", "--checks", "all",
        "--phases", "examples,coverage,fuzzing,stateful", "--mode", "all", "--max-examples", str(count(8, 300)), "--seed", str(SEED),
        "--no-color", "--warnings", "off", "--continue-on-failure",
        "--request-timeout", "60", "-H", tokens[0], "-H", tokens[1],
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=HANG_S, cwd=tmp_path, env={"PATH": os.defpath, "HOME": str(tmp_path)}
    )
    with capsys.disabled():
        print("\nschemathesis:", re.sub(r"\s+", " ", done.stdout.partition(" SUMMARY ")[2].strip("= \n")))
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    assert served.app_state.failed == 0
    assert not (served.shop.home / "hooks.log").exists()
