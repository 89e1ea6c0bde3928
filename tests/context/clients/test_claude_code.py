"""A user of Claude Code has one name in all sessions and versions."""

from __future__ import annotations

import json

import pytest

from popkit_retention.context.clients.call import person_of

DEVICE, ACCOUNT = "7f" * 32, "0f8c1e9a-3b1d-4c55-9e0a-5d2a7b6c4e11"
SESSIONS = ("5a1f0c3e-7b2d-4f6a-8c9e-1d2b3a4c5e6f", "c0ffee00-7b2d-4f6a-8c9e-1d2b3a4c5e6f")


def as_json(account: str, session: str) -> str:
    return json.dumps({"device_id": DEVICE, "account_uuid": account, "session_id": session, "team": "blue"})


@pytest.mark.parametrize("account", [ACCOUNT, ""])
def test_a_user_is_the_same_in_every_session_and_either_form(account: str) -> None:
    joined = [f"user_{DEVICE}_account_{account}_session_{session}" for session in SESSIONS]
    told = [as_json(account, session) for session in SESSIONS]
    assert {person_of(named) for named in (*joined, *told)} == {f"user_{DEVICE}_account_{account}"}


@pytest.mark.parametrize(
    "other", ["dana", "user_session_1", "a_session_b", "{", "{}", "[1]", '{"device_id": "a"}', '{"session_id": "s"}', "7"]
)
def test_any_other_name_stays_as_it_is(other: str) -> None:
    assert person_of(other) == other
