"""The bill that the page shows is that of the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from popkit_retention.dashboard.app import application
from popkit_retention.dashboard.app_state import AppState
from popkit_retention.dashboard.security import Access
from tests.bill.standing import breakdown
from tests.bill.test_bill_command import Shop
from tests.cli import inside


def test_the_bill_and_the_lost_caches_are_those_of_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop(tmp_path, known=breakdown())
    now = max(digest["ended"] for digest in shop.digests) + 60
    environ = {"CLAUDE_CONFIG_DIR": str(shop.folder / "claude"), "POPKIT_HOME": str(shop.home)}
    app = application(AppState(environ, lambda: now), Access(8000, "a-token", "another", "a-secret"), "1.2.3")
    client = TestClient(app, "http://127.0.0.1:8000", headers={"authorization": "Bearer a-token"})
    told = client.get("/api/bill").json()
    while told["reading"] is not None:
        told = client.get("/api/bill").json()
    with monkeypatch.context() as patch:
        patch.setattr("time.time", lambda: now)
        assert told["bill"] == shop.data()
        assert {**told["misses"], "left_out": []} == json.loads(inside.run(["misses", "--json"], environ, shop.project).stdout)
    assert told["project"] == str(shop.project)
    assert told["projects"] == [str(shop.project)]
    assert told["bill"]["rows"]
    assert told["bill"]["proposals"]
    assert told["bill"]["whole"]["requests"] == told["misses"]["requests"] > 0
    assert len(told["phrases"]["rows"]) == len(told["bill"]["rows"])
    assert told["phrases"]["parts"]["output"] == "What Claude wrote, thinking included"
    assert client.get("/api/bill", params={"project": "/nowhere"}).status_code == 404
