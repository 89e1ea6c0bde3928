"""What a project's policy says otherwise than the user's."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.governance import BadPolicy
from popkit_retention.governance.policies import DEFAULT_POLICY, KEYS, Own, RetentionPolicy, keeps_more, merged, own_of
from tests.examples import examples
from tests.governance import hostile

USERS = RetentionPolicy(older_than_days=90, keep_session_ids=("s1", "s2"), keep_context_ids=(1,), limit=100)


def test_a_project_has_its_own_values_and_all_others_of_the_user() -> None:
    own = Own().changed(USERS, {"older_than_days": 7})
    assert own.over(USERS) == replace(USERS, older_than_days=7)
    assert own.over(replace(USERS, limit=5, vacuum=True)) == replace(USERS, older_than_days=7, limit=5, vacuum=True)


def test_what_the_user_keeps_later_is_kept_in_the_project_too() -> None:
    own = Own().changed(USERS, {"keep_session_ids": ("s2", "mine")})
    assert own.over(USERS).keep_session_ids == ("s2", "mine"), "s1 was let go when the user said yes"
    later = replace(USERS, keep_session_ids=("s1", "s2", "s3"))
    assert own.over(later).keep_session_ids == ("s2", "mine", "s3")


def test_a_later_change_adds_to_an_earlier_one() -> None:
    own = Own().changed(USERS, {"older_than_days": 7, "limit": 9}).changed(USERS, {"limit": 5})
    assert own.over(USERS) == replace(USERS, older_than_days=7, limit=5)


@settings(max_examples=examples(100, 1_000))
@given(hostile.policies, hostile.policies, hostile.policies, st.sets(st.sampled_from(KEYS)))
def test_any_of_them_comes_back_as_it_was_and_never_keeps_less_because_the_user_keeps_more(
    users: RetentionPolicy, wanted: RetentionPolicy, more: RetentionPolicy, keys: set[str]
) -> None:
    own = Own().changed(users, {key: getattr(wanted, key) for key in keys})
    assert own_of(json.loads(json.dumps(own.to_json()))) == own
    held = own.over(users)
    assert all(getattr(held, key) == getattr(wanted if key in keys else users, key) for key in KEYS)
    if keeps_more(users, more):
        assert keeps_more(held, own.over(more))


@pytest.mark.parametrize(
    "value",
    [
        None, {}, {"config": {}}, {"config": {}, "released": {}, "more": 1}, {"config": {"limit": 0}, "released": {}},
        {"config": {"keep_session_ids": []}, "released": {}}, {"config": {}, "released": {"keep_session_ids": []}},
        {"config": {"limit": 5}, "released": {"limit": 5}}, {"config": {"older": 1}, "released": {}}, {"config": [], "released": {}},
    ],
)  # fmt: skip
def test_a_spoilt_one_is_refused(value: object) -> None:
    with pytest.raises(BadPolicy):
        own_of(value)


@pytest.mark.parametrize(
    "config",
    [
        {}, {"older_than_days": 90}, {"older_than_days": 91}, {"source_types": ["context", "action"]}, {"limit": 99},
        {"keep_session_ids": ["new", "s2", "s1"]}, {"keep_context_ids": [1, 2]}, {"vacuum": False}, {"auto_gc": False},
        {"older_than_days": 200, "limit": 1, "keep_context_ids": [3, 2, 1]},
    ],
)  # fmt: skip
def test_a_change_only_keeps_more(config: dict) -> None:
    assert keeps_more(USERS, merged(USERS, config)[0])


@pytest.mark.parametrize(
    "config",
    [
        {"older_than_days": 89.5}, {"keep_session_ids": ["s1"]}, {"keep_session_ids": ["s1", "s3"]}, {"keep_context_ids": []},
        {"limit": 101}, {"vacuum": True}, {"auto_gc": True}, {"older_than_days": 200, "auto_gc": True},
    ],
)  # fmt: skip
def test_a_change_keeps_less_in_something(config: dict) -> None:
    assert not keeps_more(USERS, merged(USERS, config)[0])


def test_naming_more_source_types_keeps_less() -> None:
    only = replace(DEFAULT_POLICY, source_types=("action",))
    assert not keeps_more(only, merged(only, {"source_types": ["action", "thought"]})[0])
    assert not keeps_more(only, merged(only, {"source_types": ["thought"]})[0])
