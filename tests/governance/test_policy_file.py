"""The file of the policies: read strictly, migrated, replaced whole, never guessed at; and what a project's policy says otherwise than
the user's."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.governance import BadPolicy, GovernanceDamaged, GovernanceTooNew, policy_file
from popkit_retention.governance.data_folder import Folder
from popkit_retention.governance.policies import DEFAULT_POLICY, KEYS, RetentionPolicy, keeps_more, merged
from popkit_retention.governance.policy_file import State, state_of
from popkit_retention.governance.project_policies import OwnPolicy, own_of
from popkit_retention.governance.strict_json import LARGEST_BYTES
from tests.examples import examples
from tests.governance import hostile
from tests.governance.operations import changed

STATE = changed(State(), "rag", RetentionPolicy(limit=7, keep_session_ids=("é", "s2")), 1_790_000_000.25)


def _written(folder: Folder, text: str | bytes) -> str:
    path = Path(folder.policies)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return folder.policies


def test_where_there_is_no_file_the_defaults_are_in_force(folder: Folder, home: Path):
    assert policy_file.read(folder.policies) == State(3, 0, "1970-01-01T00:00:00.000Z", DEFAULT_POLICY, DEFAULT_POLICY)
    assert not home.exists()


def test_what_was_written_comes_back(folder: Folder):
    policy_file.write(folder.policies, STATE)
    assert policy_file.read(folder.policies) == STATE
    assert stat.S_IMODE(Path(folder.policies).stat().st_mode) == 0o600
    assert json.loads(Path(folder.policies).read_text(encoding="utf-8"))["updated_at"] == "2026-09-21T14:13:20.250Z"


def test_a_change_is_of_one_domain_and_what_was_stays_as_it_was():
    after = STATE.with_policies({"memory": RetentionPolicy(limit=1)})
    assert (after.memory.limit, after.rag) == (1, STATE.rag)
    assert (STATE.memory, STATE.revision) == (DEFAULT_POLICY, 1)
    for use in (lambda: STATE.policy("audit"), lambda: STATE.with_policies({"audit": DEFAULT_POLICY})):
        with pytest.raises(BadPolicy):
            use()


@settings(max_examples=examples(50, 1_000))
@given(hostile.policies, hostile.policies)
def test_any_two_policies_come_back_as_they_were(memory: RetentionPolicy, rag: RetentionPolicy):
    state = changed(changed(State(), "memory", memory, 1), "rag", rag, 2)
    assert state_of(json.loads(json.dumps(state.to_json()))) == state


def test_the_largest_policies_there_can_be_are_not_too_large_to_read(folder: Folder):
    ids = tuple(f"{number:05d}" + "\U0001f600" * 195 for number in range(10_000))
    largest = RetentionPolicy(keep_session_ids=ids, keep_context_ids=tuple(range(2**53 - 10_000, 2**53)))
    state = changed(changed(State(), "memory", largest, 1), "rag", largest, 2)
    policy_file.write(folder.policies, state)
    assert policy_file.read(folder.policies) == state


def test_a_state_in_the_specification_s_form_is_migrated_with_the_next_change(folder: Folder):
    theirs = {
        "version": 1,
        "updated_at": "2026-02-21T16:15:30.639Z",
        "memory": {**DEFAULT_POLICY.to_json(), "limit": 90_000},
        "rag": {"older_than_days": 7},
    }
    path = _written(folder, json.dumps(theirs))
    state = policy_file.read(path)
    assert (state.version, state.revision, state.updated_at) == (3, 0, "2026-02-21T16:15:30.639Z")
    assert (state.memory.limit, state.rag.older_than_days, state.rag.limit) == (20_000, 7, 5_000)
    assert json.loads(Path(path).read_text()) == theirs, "reading changes nothing"
    policy_file.write(path, changed(state, "memory", DEFAULT_POLICY, 5))
    now = json.loads(Path(path).read_text())
    assert (now["version"], now["revision"], now["rag"]["older_than_days"]) == (3, 1, 7)


@pytest.mark.parametrize("version", [4, 99, 2**60])
def test_a_state_of_a_later_version_is_refused_and_left_alone(folder: Folder, version: int):
    text = json.dumps({"version": version, "anything": []})
    with pytest.raises(GovernanceTooNew, match="Update PopKit"):
        policy_file.read(_written(folder, text))
    assert Path(folder.policies).read_text() == text


def _but(**changed: object) -> str:
    return json.dumps({**STATE.to_json(), **changed})


_CORRUPT = {
    "empty": "",
    "cut off": json.dumps(STATE.to_json())[:-10],
    "a list": "[]",
    "no object": "5",
    "no version": json.dumps({key: value for key, value in STATE.to_json().items() if key != "version"}),
    "a version that is no number": _but(version="2"),
    "a version that is true": _but(version=True),
    "a revision that is true": _but(revision=True),
    "a version before all": _but(version=0),
    "a key too many": _but(more=1),
    "a domain too few": json.dumps({key: value for key, value in STATE.to_json().items() if key != "rag"}),
    "no revision": json.dumps({key: value for key, value in STATE.to_json().items() if key != "revision"}),
    "a revision below 0": _but(revision=-1),
    "half a revision": _but(revision=1.5),
    "a revision that is too large": _but(revision=2**60),
    "no time": _but(updated_at=""),
    "a time that is no text": _but(updated_at=5),
    "a policy beyond its bounds": _but(rag={**DEFAULT_POLICY.to_json(), "limit": 0}),
    "a policy without a key": _but(rag={"limit": 5}),
    "NaN": _but(revision=5).replace("5000", "NaN"),
    "Infinity": _but(revision=5).replace("5000", "-Infinity"),
    "a number that is too large": _but().replace("5000", "1e999"),
    "a number that is too long": _but().replace("5000", "9" * 100_000),
    "a key twice": _but().replace('"revision": 1', '"revision": 1, "revision": 2'),
    "a policy's key twice": _but().replace('"vacuum": false', '"vacuum": false, "vacuum": true'),
    "too deep": "[" * 100_000,
    "too deep in a key": '{"a":' * 100_000,
    "no UTF-8": b"\xff\xfe{}",
    "a surrogate": _but(updated_at="\ud800"),
    "a byte order mark": b"\xef\xbb\xbf" + json.dumps(STATE.to_json()).encode(),
    "too large": b" " * (LARGEST_BYTES + 1),
}


_MESSAGES = {"empty": "is not JSON", "no UTF-8": "is not UTF-8", "a list": "is not an object", "too deep": "is nested too deeply"}


@pytest.mark.parametrize("what", _CORRUPT)
def test_a_corrupt_file_is_refused_and_the_message_says_how_to_mend_it(folder: Folder, what: str):
    text = _CORRUPT[what]
    with pytest.raises(GovernanceDamaged) as refused:
        policy_file.read(_written(folder, text))
    message = str(refused.value)
    assert message.startswith(folder.policies + " ")
    assert _MESSAGES.get(what, "") in message
    assert "`popkit retention admin rollback REVISION`" in message
    assert message.isprintable()
    assert Path(folder.policies).read_bytes() == (text if isinstance(text, bytes) else text.encode())


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_not_read(folder: Folder, kind: str):
    Path(folder.state).mkdir(parents=True)
    Path(folder.policies).mkdir() if kind == "folder" else os.mkfifo(folder.policies)
    with pytest.raises(GovernanceDamaged, match="cannot be read"):
        policy_file.read(folder.policies)


def test_a_write_sweeps_what_killed_writers_left(folder: Folder):
    Path(folder.state).mkdir(parents=True)
    left = Path(folder.policies + ".tmp-4194305-1")  # no process can have this id
    left.write_text("{")
    policy_file.write(folder.policies, STATE)
    assert sorted(path.name for path in Path(folder.state).iterdir()) == ["retention-policies.json"]


# --- projects' own ------------------------------------------------------------------------------------------------------------------------

USERS = RetentionPolicy(older_than_days=90, keep_session_ids=("s1", "s2"), keep_context_ids=(1,), limit=100)


def test_a_project_has_its_own_values_and_all_others_of_the_user() -> None:
    own = OwnPolicy().changed(USERS, {"older_than_days": 7})
    assert own.over(USERS) == replace(USERS, older_than_days=7)
    assert own.over(replace(USERS, limit=5, vacuum=True)) == replace(USERS, older_than_days=7, limit=5, vacuum=True)


def test_what_the_user_keeps_later_is_kept_in_the_project_too() -> None:
    own = OwnPolicy().changed(USERS, {"keep_session_ids": ("s2", "mine")})
    assert own.over(USERS).keep_session_ids == ("s2", "mine"), "s1 was let go when the user said yes"
    later = replace(USERS, keep_session_ids=("s1", "s2", "s3"))
    assert own.over(later).keep_session_ids == ("s2", "mine", "s3")


def test_a_later_change_adds_to_an_earlier_one() -> None:
    own = OwnPolicy().changed(USERS, {"older_than_days": 7, "limit": 9}).changed(USERS, {"limit": 5})
    assert own.over(USERS) == replace(USERS, older_than_days=7, limit=5)


@settings(max_examples=examples(100, 1_000))
@given(hostile.policies, hostile.policies, hostile.policies, st.sets(st.sampled_from(KEYS)))
def test_each_of_them_round_trips_and_never_keeps_less_when_the_user_keeps_more(
    users: RetentionPolicy, wanted: RetentionPolicy, more: RetentionPolicy, keys: set[str]
) -> None:
    own = OwnPolicy().changed(users, {key: getattr(wanted, key) for key in keys})
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
def test_a_corrupt_one_is_refused(value: object) -> None:
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
