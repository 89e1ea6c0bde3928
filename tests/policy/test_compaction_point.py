"""At how many tokens a host compacts: as it says, lowered by a percentage, and not where a request shows otherwise."""

from __future__ import annotations

import pytest

from popkit_retention.core.policy.compaction_point import noted, point
from popkit_retention.core.policy.session_facts import SessionFacts

WINDOW = 200_000


@pytest.mark.parametrize(
    ("said", "at", "tokens", "expected"),
    [
        ({}, 167_000, 0, 167_000),
        ({"percent": 50}, 167_000, 0, 90_000),
        ({"percent": 99}, 167_000, 0, 167_000),
        ({}, 100_000, 120_000, 120_000),  # a little later than it says
        ({}, 100_000, 130_000, WINDOW),
        ({}, 0, 0, WINDOW),  # it says that it never does
        ({"percent": 50}, 0, 0, WINDOW),
    ],
)
def test_a_host_compacts_where_it_has_said(said: dict, at: int, tokens: int, expected: int) -> None:
    session = SessionFacts(compaction=said, model="m", window_tokens=WINDOW)
    assert point(WINDOW, session.but(compacts_at=noted(session, at)), tokens) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [({}, 167_000), ({"window": 100_000}, 67_000), ({"window": 300_000}, 167_000), ({"off": True}, WINDOW), ({"percent": 50}, 90_000)],
)
def test_until_it_has_said_where_it_is_reckoned(said: dict, expected: int) -> None:
    assert point(WINDOW, SessionFacts(compaction=said), 0) == expected


def test_of_a_host_that_tells_nothing_the_window_is_all_that_is_known() -> None:
    assert point(WINDOW, SessionFacts(), 150_000) == WINDOW
