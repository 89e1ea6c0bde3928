"""The specification's functions and its eight invariants, as a program sees them that uses governance as a library."""

from __future__ import annotations

import json
import os
import re
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core import archive
from popkit_retention.governance import BadPolicy, BadRequest, DomainUnavailable, GovernanceDamaged, GovernanceError, retention
from popkit_retention.governance.controller import Controller
from popkit_retention.governance.log import Log
from popkit_retention.governance.policies import DOMAINS, RetentionPolicy
from popkit_retention.governance.policy_file import State
from popkit_retention.governance.retention import (
    DEFAULT_POLICY,
    apply_retention_rules,
    configure_retention_policy,
    get_retention_policies,
    get_retention_policy,
    resolve_gc_params_with_policy,
    set_retention_policy,
)
from tests.examples import examples
from tests.governance import hostile
from tests.governance.operations import changed
from tests.governance.stored import NOW

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
DEFAULTS = DEFAULT_POLICY.to_json()


@pytest.fixture
def environ(home: Path) -> dict[str, str]:
    return {"POPKIT_HOME": str(home)}


def _policies(environ: dict[str, str]) -> dict:
    with Controller(environ) as controller:
        return controller.policies()


def _resource(id: str, days: float, **more: object) -> dict:
    return {"id": id, "created_at": NOW - days * 86_400, "source_type": "context", **more}


def test_both_domains_begin_with_the_defaults_and_asking_makes_no_file(environ: dict[str, str], home: Path):
    assert [get_retention_policy(domain, environ) for domain in DOMAINS] == [DEFAULTS, DEFAULTS]
    assert not home.exists()


def test_configuring_merges_what_is_given_and_tells_what_is_in_force(environ: dict[str, str]):
    configure_retention_policy("rag", {"limit": 7}, environ)
    answer = configure_retention_policy("rag", {"older_than_days": 90, "vacuum": True}, environ, now=lambda: NOW)
    policy = {**DEFAULTS, "limit": 7, "older_than_days": 90, "vacuum": True}
    assert answer == {
        "success": True,
        "domain": "rag",
        "policy": policy,
        "updated_at": "2026-11-22T23:30:00.000Z",
        "revision": 2,
        "adjusted": [],
    }
    assert get_retention_policy("rag", environ) == policy


def test_what_is_clamped_is_reported(environ: dict[str, str]):
    answer = configure_retention_policy("memory", {"older_than_days": 0, "limit": 10**400, "source_types": ["audit"]}, environ)
    assert answer["policy"] == {**DEFAULTS, "older_than_days": 1, "limit": 20_000}
    assert {change["key"]: change["kept"] for change in answer["adjusted"]} == {
        "older_than_days": 1,
        "limit": 20_000,
        "source_types": ["context", "action", "thought"],
    }


def test_changing_what_was_returned_changes_no_policy(environ: dict[str, str]):
    returned = get_retention_policy("rag", environ)
    returned["limit"] = 1
    returned["source_types"].clear()
    assert get_retention_policy("rag", environ) == DEFAULTS
    assert DEFAULT_POLICY.to_json() == DEFAULTS


@settings(max_examples=examples(15, 200))
@given(st.lists(st.tuples(st.sampled_from(DOMAINS), hostile.configs), max_size=4))
def test_a_change_to_one_domain_never_touches_the_other(tmp_path_factory, changes: list[tuple[str, dict]]):
    environ = {"POPKIT_HOME": str(tmp_path_factory.mktemp("home"))}
    state = Path(environ["POPKIT_HOME"], "data/state/retention-policies.json")
    for domain, config in changes:
        before, file = _policies(environ), state.read_bytes() if state.exists() else None
        other = DOMAINS[1 - DOMAINS.index(domain)]
        try:
            answer = configure_retention_policy(domain, config, environ)
        except BadPolicy:
            assert _policies(environ) == before, "what is refused changes nothing"
            assert file == (state.read_bytes() if state.exists() else None)
            continue
        after = _policies(environ)
        assert after[other] == before[other]
        assert after[domain] == answer["policy"]
        assert after["revision"] == before["revision"] + 1


def test_every_mutation_sets_updated_at_in_iso_8601_and_keeps_the_version(environ: dict[str, str], home: Path):
    state = home / "data/state/retention-policies.json"
    for number, change in enumerate(
        (
            lambda: configure_retention_policy("rag", {"limit": 5}, environ, now=lambda: NOW),
            lambda: configure_retention_policy("rag", {"limit": 5}, environ, now=lambda: NOW + 1.5),
            lambda: configure_retention_policy("memory", {}, environ, now=lambda: NOW + 2),
        )
    ):
        updated_at = change()["updated_at"]
        assert ISO.fullmatch(updated_at)
        assert datetime.fromisoformat(updated_at[:-1] + "+00:00").timestamp() == NOW + (0, 1.5, 2)[number]
        stored = json.loads(state.read_text(encoding="utf-8"))
        assert (stored["version"], stored["revision"], stored["updated_at"]) == (3, number + 1, updated_at)
    with Controller(environ, now=lambda: NOW + 9) as controller:
        assert ISO.fullmatch(controller.policies()["updated_at"])
        controller.rollback(0)
        assert controller.policies()["updated_at"] == "2026-11-22T23:30:09.000Z"


def test_a_file_in_the_specification_s_form_is_in_force_verifies_and_can_be_changed(environ: dict[str, str], home: Path):
    theirs = {"version": 1, "updated_at": "2026-02-21T16:15:30.639Z", "memory": DEFAULTS, "rag": {**DEFAULTS, "limit": 9}}
    (home / "data/state").mkdir(parents=True)
    (home / "data/state/retention-policies.json").write_text(json.dumps(theirs))
    with Controller(environ) as controller:
        assert controller.verify()["ok"]
        assert controller.get("rag")["limit"] == 9
        assert controller.configure("memory", {"vacuum": True})["revision"] == 1
        assert controller.get("rag")["limit"] == 9
        assert controller.verify()["ok"]


@pytest.mark.parametrize("older", [None, 1])
def test_no_policy_is_in_force_while_the_file_is_missing_or_older_than_the_log_says(environ: dict[str, str], home: Path, older: int | None):
    state = home / "data/state/retention-policies.json"
    configure_retention_policy("rag", {"limit": 1}, environ)
    kept = state.read_bytes()
    for limit in (2, 3):
        configure_retention_policy("rag", {"limit": limit, "keep_session_ids": ["kept"]}, environ)
    state.unlink() if older is None else state.write_bytes(kept)
    with Controller(environ) as controller:
        for asked in (lambda: controller.get("rag"), lambda: controller.gc("rag"), lambda: controller.configure("rag", {"vacuum": True})):
            with pytest.raises(GovernanceDamaged, match="revision 3 was written"):
                asked()
        assert not controller.verify()["ok"]
        assert controller.rollback(3)["revision"] == 4
        assert controller.verify()["ok"]
    assert get_retention_policy("rag", environ) == {**DEFAULTS, "limit": 3, "keep_session_ids": ["kept"]}


def test_a_change_that_cannot_be_written_is_reported_and_made_when_it_can_be(environ: dict[str, str], home: Path):
    state = home / "data/state/retention-policies.json"
    state.mkdir(parents=True)
    (state / "in the way").touch()
    after = changed(State(), "rag", RetentionPolicy(limit=7), NOW)
    details = {"revision": 1, "policies": {domain: after.policy(domain).to_json() for domain in DOMAINS}}
    with closing(Log(str(home / "data/state/retention-log.sqlite"))) as log:
        log.append("configured", "rag", [], details, "user", NOW, {"do": "configure", "state": after.to_json()})
    with pytest.raises(GovernanceError, match=r"cannot be written .*is logged: fix that"):
        get_retention_policy("rag", environ)
    (state / "in the way").unlink()
    state.rmdir()
    assert get_retention_policy("rag", environ)["limit"] == 7


def test_the_rules_answer_with_what_the_specification_names(environ: dict[str, str]):
    configure_retention_policy("rag", {"keep_session_ids": ["s1"], "limit": 2}, environ)
    resources = [
        *[_resource(f"r{days}", days) for days in (40, 60, 50)],
        _resource("kept", 60, session_id="s1"),
        _resource("young", 1),
        _resource("undated", 0) | {"created_at": "when?"},
    ]
    answer = apply_retention_rules("rag", resources, environ=environ, now=lambda: NOW)
    assert [(verdict["id"], verdict["reasons"]) for verdict in answer["eligible"]] == [
        ("r60", ["older_than_retention_period"]),
        ("r50", ["older_than_retention_period"]),
    ]
    assert [(verdict["id"], verdict["reasons"]) for verdict in answer["protected"]] == [
        ("kept", ["protected_session"]),
        ("young", ["within_retention_period"]),
        ("undated", ["invalid_timestamp"]),
    ]
    assert answer["counts"] == {"eligible": 2, "protected": 3, "total": 6}
    assert (answer["success"], answer["domain"], answer["truncated"], answer["left_out"]) == (True, "rag", True, 1)
    assert answer["cutoff_date"] == "2026-10-23T23:30:00.000Z"
    assert answer["policy_applied"] == {**DEFAULTS, "keep_session_ids": ["s1"], "limit": 2}


def test_options_hold_for_one_call_and_take_nothing_away_that_the_policy_keeps(environ: dict[str, str]):
    configure_retention_policy("rag", {"keep_session_ids": ["s1"]}, environ)
    resources = [_resource("a", 5), _resource("b", 5, session_id="s1"), _resource("c", 5, session_id="s2")]
    options = {"older_than_days": 3, "keep_session_ids": ["s2"]}
    answer = apply_retention_rules("rag", resources, options, environ, now=lambda: NOW)
    assert [verdict["id"] for verdict in answer["eligible"]] == ["a"]
    assert get_retention_policy("rag", environ) == {**DEFAULTS, "keep_session_ids": ["s1"]}
    for wrong in ({"older_than_days": 0}, {"limits": 5}, {"limit": "5"}):
        with pytest.raises(BadRequest):
            apply_retention_rules("rag", resources, wrong, environ)


def test_applying_rules_deletes_and_writes_nothing(environ: dict[str, str], home: Path):
    resources = [_resource("a", 90)]
    before = json.dumps(resources)
    apply_retention_rules("memory", resources, environ=environ)
    assert json.dumps(resources) == before
    assert not home.exists()


def test_an_archive_answers_with_what_the_specification_names(environ: dict[str, str], home: Path):
    with closing(archive.open_archive(str(home / "archive.sqlite"))) as db:
        chain = archive.Chain("s1", "s1", project="/home/dev/shop")
        new = archive.NewRecord("toolu_1", "read", "Read a.py", json.dumps("x = 1\n" * 50))
        ids = archive.add_records(db, chain, [new], now=NOW)
    with Controller(environ) as controller:
        answer = controller.archive("rag", ids)
    manifest = json.loads(Path(answer["manifest_path"]).read_text(encoding="utf-8"))
    assert set(answer) == {"success", "archive_id", "manifest_path", "resource_count", "total_size_bytes"}
    assert (answer["success"], answer["resource_count"]) == (True, 1)
    assert answer["total_size_bytes"] >= 300
    assert home / "data/archive" / answer["archive_id"] == Path(answer["manifest_path"]).parent
    assert manifest["archive_id"] == answer["archive_id"]


@pytest.mark.parametrize("resources", [5, "abc", {}, {"id": "a"}], ids=repr)
def test_resources_that_are_no_list_are_refused(environ: dict[str, str], resources: object):
    with pytest.raises(BadRequest, match="list"):
        apply_retention_rules("rag", resources, environ=environ)


def test_arguments_of_a_collection_are_resolved_over_the_policy_in_force(environ: dict[str, str]):
    configure_retention_policy("rag", {"limit": 7, "auto_gc": True}, environ)
    params = resolve_gc_params_with_policy("rag", {"older_than_days": 3}, {"older_than_days": 3, "limit": 100}, environ)
    assert (params.domain, params.older_than_days, params.limit, params.auto_gc) == ("rag", 3, 7, True)


def test_deprecated_names_still_work_and_say_what_to_use_instead(environ: dict[str, str]):
    with pytest.warns(DeprecationWarning, match=r"use configure_retention_policy\(domain, config\)"):
        answer = set_retention_policy("memory", {"limit": 9}, environ)
    assert answer["policy"]["limit"] == 9
    with pytest.warns(DeprecationWarning, match=r"use get_retention_policy\(domain\)") as warned:
        both = get_retention_policies(environ)
    assert warned[0].filename == __file__
    assert both == {**both, "version": 3, "revision": 1, "memory": {**DEFAULTS, "limit": 9}, "rag": DEFAULTS}
    assert set(both) == {"version", "revision", "updated_at", "memory", "rag"}


_CALLS = {
    "configure": lambda domain, environ: configure_retention_policy(domain, {}, environ),
    "get": get_retention_policy,
    "apply": lambda domain, environ: apply_retention_rules(domain, [], environ=environ),
    "resolve": lambda domain, environ: resolve_gc_params_with_policy(domain, {}, {}, environ),
}


@pytest.mark.parametrize("call", _CALLS)
def test_an_unknown_domain_is_refused_and_nothing_is_made(environ: dict[str, str], home: Path, call: str):
    for domain in ("", "audit", "RAG", None, 5, "../rag"):
        with pytest.raises(BadPolicy, match="Known: memory, rag"):
            _CALLS[call](domain, environ)
    assert not home.exists()


def test_all_names_of_the_specification_are_there():
    spec = {
        "configure_retention_policy", "get_retention_policy", "apply_retention_rules", "get_retention_policies", "set_retention_policy",
        "resolve_gc_params_with_policy", "DEFAULT_POLICY",
    }  # fmt: skip
    assert set(retention.__all__) == spec
    assert all(hasattr(retention, name) for name in spec)


def test_without_an_environment_the_processs_own_says_where(environ: dict[str, str], home: Path):
    before = os.environ.get("POPKIT_HOME")
    os.environ.update(environ)
    try:
        configure_retention_policy("rag", {"limit": 3})
        assert get_retention_policy("rag")["limit"] == 3
    finally:
        os.environ.pop("POPKIT_HOME")
        if before is not None:
            os.environ["POPKIT_HOME"] = before
    assert (home / "data/state/retention-policies.json").exists()


def test_a_hold_is_released_whatever_becomes_of_another_domain(environ: dict[str, str], home: Path):
    with Controller(environ) as controller:
        hold = controller.add_hold("rag", "session", "session-1", "me", "audit")
    (home / "memory.sqlite").mkdir()
    with Controller(environ) as controller:
        assert controller.release_hold(hold["id"])["id"] == hold["id"]
        assert controller.holds("rag")["holds"] == []
        with pytest.raises(DomainUnavailable, match="memory"):
            controller.release_hold(hold["id"])
