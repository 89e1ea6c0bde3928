"""A session is handed what its methods take, read in one place, whatever a request holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.core.helper.compactions import CompactionRequest
from popkit_retention.core.helper.routes import ROUTES
from popkit_retention.core.hosts.guests import ReportedResult

from .asking import Helper
from .test_guest import Guest

DESIGN = Path(__file__).parents[2] / "docs" / "design" / "README.md"
ODD = (None, 7, -1.5, True, "odd", [], [[], {}], {"odd": {}})


@pytest.fixture(params=[Helper, Guest], ids=["hooks", "guest"])
def any_helper(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Helper]:
    running = request.param(tmp_path_factory.mktemp("h"))
    yield running
    running.stop()


def test_every_request_is_answered_whatever_its_fields_hold(any_helper: Helper):
    takers = (*ROUTES.values(), CompactionRequest.__init__, ReportedResult.__init__)
    fields = {name for taker in takers for name in taker.__annotations__}
    for path in ROUTES:
        for odd in ODD:
            assert isinstance(any_helper.ask(path, dict.fromkeys(fields, odd)), dict)
    assert any_helper.failures() == ""


def test_the_design_lists_every_request():
    rows = [line.split("|")[1] for line in DESIGN.read_text(encoding="utf-8").splitlines() if line.startswith("| `/")]
    assert {word.strip("`, ") for row in rows for word in row.split()} == {*ROUTES, "/end"}
