"""The policies of memory's tiers: the specification's names, its values but for those that docs/design/memory.md explains, and all of them
in force, whoever has changed them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention import memory
from popkit_retention.core.policy.ruleset import MEMORY_TIERS
from popkit_retention.memory import BadTierPolicy, InMemoryStore, Memory, MemoryTierManager
from popkit_retention.memory.items import ARCHIVE, COLD, HOT, TIERS, WARM, Item
from popkit_retention.memory.monitoring import monitor
from popkit_retention.memory.tier_manager import DELETED
from popkit_retention.memory.tier_policies import policies_of
from popkit_retention.memory.transitions import Moment, Standing, decide, entry, standing_of, warm_days

from .spec_code import block_with
from .test_transitions import FRESH

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "design" / "memory.md"
NAMES = ("HOT_TIER_POLICY", "WARM_TIER_POLICY", "COLD_TIER_POLICY", "ARCHIVE_TIER_POLICY")
# Of the specification's, that are others here.
OTHERS = {"COLD_TIER_POLICY.compression_levels", "ARCHIVE_TIER_POLICY.compression_levels"}
# Each number another one.
CHANGED = {
    "hot": {
        "max_age_hours": 48, "max_messages": 3, "min_composite_score": 0.6,
        "retention_criteria": {"composite_score_minimum": 0.5, "reinforced_within_days": 5},
    },
    "warm": {
        "max_age_days": 10, "min_composite_score": 0.2,
        "promotion_criteria": {
            "accessed_within_hours": 6, "access_count_in_hot_window": 5, "composite_score_rises_above": 0.85,
            "reinforcement_count_minimum": 3,
        },
        "entry_criteria": {"composite_score_minimum": 0.45, "retention_probability_minimum": 0.4},
    },
    "cold": {
        "max_age_days": 45, "promotion_criteria": {"accessed_after_demotion": False}, "deletion_allowed": False,
        "delete_if": {"age_days": 60, "composite_score_below": 0.2, "access_count": 1, "retention_probability_below": 0.1},
    },
    "archive": {"entry_criteria": {"composite_score_minimum": 0.7, "access_count_minimum": 7}},
}  # fmt: skip
DAY, HOUR = 86_400.0, 3_600.0
STAYS = {"composite_score_minimum": 0.0}  # whatever it is worth
KEY = {"composite_score_minimum": 0.0, "access_count_minimum": 0}


def leaves(policy: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for name, value in policy.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{before}.{name}")
        else:
            yield f"{before}.{name}", list(value) if isinstance(value, tuple) else value


def changed(path: str, value: object) -> dict[str, Any]:
    """Return the policies with one value at a path such as `hot.max_age_hours`."""
    name, _, rest = path.partition(".")
    return {name: changed(rest, value) if rest else value}


NUMBERS = [path[1:] for path, _ in leaves(MEMORY_TIERS, "")]


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_by_its_specified_name_cannot_be_changed(name: str):
    """A change would look as if it were in force: `Memory(policies=…)` is the way."""
    policy = getattr(memory, name)
    for part in (policy, *(value for value in policy.values() if isinstance(value, Mapping))):
        with pytest.raises(TypeError, match="does not support item assignment"):
            part["max_age_hours"] = 1


@pytest.mark.parametrize("name", NAMES)
def test_what_is_in_a_policy_is_the_specifications_or_explained(name: str):
    theirs = dict(leaves(block_with(name)[name], name))
    ours = dict(leaves(getattr(memory, name), name))
    assert {key for key in ours.keys() & theirs.keys() if ours[key] != theirs[key]} == {key for key in OTHERS if key in ours}
    explained = DOCUMENT.read_text(encoding="utf-8")
    for key in (ours.keys() ^ theirs.keys()) | (OTHERS & ours.keys()):
        assert f"`{key.rpartition('.')[2]}`" in explained, key


def tier(standing: Standing) -> str:
    decision = decide(standing)
    return DELETED if decision.marks else decision.tier


WARMED, OLD = replace(FRESH, tier=WARM, score=0.44), replace(FRESH, tier=COLD, age_days=90, score=0.0, retention=0.0)
LEAVES = replace(FRESH, age_hours=99, score=0.0, retention=0.0)


@pytest.mark.parametrize("values", [MEMORY_TIERS, CHANGED], ids=["the specification's", "others"])
@pytest.mark.parametrize(
    ("standing", "field", "key", "at", "beyond", "step"),
    [
        (FRESH, "age_hours", "hot.max_age_hours", WARM, HOT, -0.1),
        (replace(WARMED, score=0.0), "moved_hours", "hot.max_age_hours", COLD, WARM, -0.1),
        (FRESH, "score", "hot.retention_criteria.composite_score_minimum", HOT, WARM, -0.01),
        (LEAVES, "used_days", "hot.retention_criteria.reinforced_within_days", HOT, COLD, 0.1),
        (LEAVES, "score", "warm.entry_criteria.composite_score_minimum", WARM, COLD, -0.01),
        (LEAVES, "retention", "warm.entry_criteria.retention_probability_minimum", WARM, COLD, -0.01),
        (WARMED, "idle_days", "warm.max_age_days", WARM, COLD, 0.1),
        (WARMED, "score", "warm.min_composite_score", WARM, COLD, -0.01),
        (WARMED, "lately", "warm.promotion_criteria.access_count_in_hot_window", HOT, WARM, -1),
        (WARMED, "score", "warm.promotion_criteria.composite_score_rises_above", HOT, WARM, -0.01),
        (
            replace(WARMED, used_here=True, used_days=0), "reinforcements", "warm.promotion_criteria.reinforcement_count_minimum",
            HOT, WARM, -1,
        ),
        (replace(WARMED, reinforcements=99), "idle_days", "cold.max_age_days", WARM, COLD, 0.1),
        (OLD, "age_days", "cold.delete_if.age_days", DELETED, COLD, -0.1),
        (OLD, "score", "cold.delete_if.composite_score_below", COLD, DELETED, -0.01),
        (OLD, "accesses", "cold.delete_if.access_count", DELETED, COLD, 1),
        (OLD, "retention", "cold.delete_if.retention_probability_below", COLD, DELETED, -0.01),
        (replace(OLD, accesses=9), "score", "archive.entry_criteria.composite_score_minimum", ARCHIVE, COLD, -0.01),
        (replace(OLD, score=0.9), "accesses", "archive.entry_criteria.access_count_minimum", ARCHIVE, COLD, -1),
    ],
)  # fmt: skip
def test_every_bound_of_a_policy_is_in_force(
    values: Mapping[str, Any], standing: Standing, field: str, key: str, at: str, beyond: str, step: float
):
    in_force = policies_of({**values, "cold": {**values["cold"], "deletion_allowed": True}})
    bound = dict(leaves(values, ""))[f".{key}"]
    standing = replace(standing, policies=in_force)
    assert tier(replace(standing, **{field: bound})) == at
    assert tier(replace(standing, **{field: bound + step})) == beyond


@pytest.mark.parametrize("values", [MEMORY_TIERS, CHANGED], ids=["the specification's", "others"])
def test_a_new_item_is_hot_from_the_score_of_its_policy_on(values: Mapping[str, Any]):
    bound = values["hot"]["min_composite_score"]
    assert [entry(score, False, policies_of(values)).tier for score in (bound, bound - 0.01)] == [HOT, WARM]


@pytest.mark.parametrize("values", [MEMORY_TIERS, CHANGED], ids=["the specification's", "others"])
def test_accesses_count_within_the_active_hours(values: Mapping[str, Any]):
    hours = values["warm"]["promotion_criteria"]["accessed_within_hours"]
    item = Item("a", "x", tier=WARM, accesses=[1000 * DAY - hours * HOUR, 1000 * DAY - hours * HOUR - 1])
    assert standing_of(item, Moment(1000 * DAY, policies=policies_of(values)), 0.5).lately == 1


@pytest.mark.parametrize(("flag", "standing"), [("deletion_allowed", OLD), ("promotion_criteria.accessed_after_demotion", OLD)])
def test_what_cold_does_can_be_switched_off(flag: str, standing: Standing):
    standing = replace(standing, accessed_here="promotion" in flag)
    assert tier(standing) == (WARM if "promotion" in flag else DELETED)
    off = policies_of({"cold": {"deletion_allowed": False, **changed(flag, False)}})
    assert tier(replace(standing, policies=off)) == COLD


@pytest.mark.parametrize("path", NUMBERS)
def test_each_key_changes_one_bound(path: str):
    before, value = vars(policies_of()), dict(leaves(CHANGED, ""))[f".{path}"]
    after = vars(policies_of(changed(path, value)))
    different = [name for name in before if before[name] != after[name]]
    assert len(different) == 1
    assert after[different[0]] == value


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"lukewarm": {}}, "lukewarm is no key"),
        ({"hot": {"max_age_days": 3}}, "hot.max_age_days is no key"),
        ({"cold": {"compression_levels": ()}}, "cold.compression_levels is no key"),
        ({"hot": 3}, "hot is 3, not an object"),
        ([("hot", {})], "not an object"),
        ({"cold": {"delete_if": None}}, "cold.delete_if is None"),
        *((changed(path, value), f"{path} is {value!r}") for path in NUMBERS for value in ("24", -1, math.nan, math.inf, 1e308, None)),
        *((changed(path, True), f"{path} is True") for path in NUMBERS if "demotion" not in path and "allowed" not in path),
        ({"warm": {"min_composite_score": 1.01}}, "warm.min_composite_score is 1.01: it may be 0 to 1"),
        ({"hot": {"max_messages": 10**400}}, "it may be a number from 0 to 1e300"),
        ({"hot": {"max_messages": 2.5}}, "hot.max_messages is 2.5: it may be a whole number"),
        ({"cold": {"delete_if": {"access_count": 0.5}}}, "it may be a whole number"),
        ({"cold": {"deletion_allowed": 1}}, "it may be true or false"),
    ],
)
def test_a_policy_that_cannot_be_in_force_is_refused_by_its_key(given: Any, named: str):
    with pytest.raises(BadTierPolicy) as refused:
        Memory(InMemoryStore(), policies=given)
    assert named in str(refused.value)


@pytest.mark.parametrize(("hours", "left"), [(24, WARM), (72, HOT)])
def test_an_agents_memory_and_its_job_go_by_its_own_policies(hours: int, left: str):
    """30 hours later one memory has moved the item, the other has not."""
    clock = [1000 * DAY]
    policies = {"hot": {"max_age_hours": hours, "max_messages": 0, "retention_criteria": STAYS}}
    with Memory(InMemoryStore(), "agent", now=lambda: clock[0], policies=policies) as own:
        item = own.add("The deploy key lies in the vault of the operations team.", tier=HOT)
        clock[0] += 30 * HOUR
        assert own.why(item.id)["decision"]["tier"] == left
        own.run(force=True)
        assert own.find(item.id).tier == left


@pytest.mark.parametrize("newest", [2, 4])
def test_as_many_of_the_newest_stay_as_the_policy_has(newest: int):
    clock = [1000 * DAY]
    policies = {"hot": {"max_messages": newest, "retention_criteria": STAYS}}
    with Memory(InMemoryStore(), "agent", now=lambda: clock[0], policies=policies) as own:
        for number in range(6):
            own.add(f"Service {number} listens on port 80{number}0.", tier=HOT, created_at=clock[0] + number)
        clock[0] += 40 * HOUR
        own.run(force=True)
        assert sum(item.tier == HOT for item in own.list()) == newest


def test_the_candidates_for_a_move_are_those_of_the_policies():
    clock = [1000 * DAY]
    policies = {"hot": {"max_age_hours": 72, "retention_criteria": {"composite_score_minimum": 0.9}}, "archive": {"entry_criteria": KEY}}
    with Memory(InMemoryStore(), "agent", now=lambda: clock[0], policies=policies) as own:
        own.add("The proxy takes port 8080.", tier=HOT, id="hot")
        own.add("The proxy takes port 8081.", tier=WARM, id="warm")
        clock[0] += 60 * HOUR
        assert [item.id for item in monitor(own.store, clock[0]).demotion] == ["hot"]
        assert monitor(own.store, clock[0], policies=own.policies).demotion == []
        assert [item.id for item in monitor(own.store, clock[0], policies=own.policies).archive] == ["warm"]
        assert monitor(own.store, clock[0]).archive == []


def test_a_manager_by_its_specified_name_takes_policies():
    at = {"id": "a", "created_at": datetime.now(timezone.utc), "tier": "WARM", "composite_score": 0.8, "access_count": 1}
    assert MemoryTierManager().evaluate_and_transition(at)[0] == HOT
    later = MemoryTierManager(policies={"warm": {"promotion_criteria": {"composite_score_rises_above": 0.9}}})
    assert later.evaluate_and_transition(at)[0] == WARM


def test_a_memory_of_a_repository_goes_by_the_configuration(tmp_path: Path):
    written = {"retention": {"memory": {"tiers": {"hot": {"max_age_hours": 72}}}}}
    (tmp_path / "popkit").mkdir()
    (tmp_path / "popkit" / "retention-config.json").write_text(json.dumps(written))
    with Memory.of({"POPKIT_HOME": str(tmp_path / "popkit")}, str(tmp_path)) as own:
        assert own.policies == policies_of(written["retention"]["memory"]["tiers"])


def values_of(policy: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            name: values_of(value)
            if isinstance(value, dict)
            else st.booleans()
            if isinstance(value, bool)
            else st.floats(0, 1)
            if isinstance(value, float)
            else st.integers(0, 60)
            for name, value in policy.items()
        },
    )


@given(values_of(MEMORY_TIERS), st.sampled_from(TIERS), st.floats(0, 1), st.integers(0, 9), st.integers(0, 9), st.integers(0, 4000))
def test_the_job_comes_to_an_end_under_any_policies(
    values: dict[str, Any], tier: str, uniqueness: float, accesses: int, uses: int, hours: int
):
    """Each of its runs takes an item as far as the rules lead, and a second one a moment later finds nothing to move."""
    times = [1000 * DAY - hour * HOUR for hour in range(accesses)]
    used = [1000 * DAY - hour * HOUR for hour in range(uses)]
    with Memory(InMemoryStore(), "agent", now=lambda: 1000 * DAY, policies=values) as own:
        own.add(
            "Port 8080 is taken by the proxy.", tier=tier, uniqueness=uniqueness, created_at=1000 * DAY - hours * HOUR,
            accesses=times[::-1], access_count=accesses, reinforced=used[::-1], reinforcements=uses,
        )  # fmt: skip
        own.run(force=True)
        again = own.run(force=True)
        assert again is not None
        assert again.moved == {}


@given(st.integers(0, 50), st.integers(0, 60), st.integers(0, 60))
def test_uses_lengthen_a_stay_in_warm_up_to_colds_days(uses: int, warm: int, cold: int):
    policies = policies_of({"warm": {"max_age_days": warm}, "cold": {"max_age_days": cold}})
    assert warm_days(0, policies) == min(warm, cold)
    assert warm_days(uses, policies) <= warm_days(uses + 1, policies) <= cold
