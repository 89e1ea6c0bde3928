"""Every rule of the door's table: its law, its switch, its words, and its place in the lab."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.hidden_failures import SHELLS, hidden_lines
from hooks.utils.policy import door
from hooks.utils.policy.ruleset import SAY_ONCE, SHAPES
from popkit_retention.lab.engine_policies import DOOR_SWITCHES, Door, door_settings_of
from popkit_retention.lab.policies import POLICIES
from tests.examples import examples
from tests.policy.door_laws import LAWS, Context, Result, results

SWITCHED = [pytest.param(rule, value, id=f"{rule.name}-{value}") for rule in door.RULES for value in rule.values]
MANUAL = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"


def alone(rule: door.Rule, value: str) -> Context:
    return Context(door_settings_of(value), (rule,))


@pytest.mark.parametrize(("rule", "value"), SWITCHED)
@given(data=st.data())
@settings(max_examples=examples(60, 10_000))
def test_what_a_rule_leaves_out_keeps_its_law_and_is_told(rule: door.Rule, value: str, data: st.DataObject):
    context, law = alone(rule, value), LAWS[rule.law]
    for result in data.draw(st.one_of(law.results, law.results, results)):
        entry = context.arrives(result)
        if entry.text == result.text:
            assert entry == (result.text, (), ())
        else:
            law.holds(result, entry.text, context.reader)
            [reason] = entry.reasons
            assert re.fullmatch(re.escape(rule.words).replace(re.escape("{:,}"), r"[\d,]+"), reason)
        context.is_seen(result, entry)


@pytest.mark.parametrize("rule", door.RULES, ids=[rule.name for rule in door.RULES])
@given(arriving=results)
@settings(max_examples=examples(20, 2_000))
def test_a_rule_that_is_off_and_the_same_call_at_once_again_leave_nothing_out(rule: door.Rule, arriving: list[Result]):
    off, on = alone(rule, door.OFF), alone(rule, rule.values[-1])
    for result in arriving:
        assert off.arrives(result) == (result.text, (), ())
        on.arrives(result)
        assert on.arrives(result, again=True) == (result.text, (), ())


@given(arriving=results)
@settings(max_examples=examples(60, 5_000))
def test_all_rules_together_tell_when_they_leave_something_out_and_hide_no_failure(arriving: list[Result]):
    strongest = door.Settings(*(values[-1] for values in DOOR_SWITCHES.values()))
    context = Context(strongest)
    for result in arriving:
        entry = context.arrives(result)
        assert bool(entry.reasons) == (entry.text != result.text)
        if result.tool in SHELLS and result.kind != "read":
            assert hidden_lines(result.text, entry.text) == []


def test_the_switches_of_the_rules_are_all_that_can_be_set_and_the_manual_tells_of_them():
    assert {setting: (door.OFF, *values) for setting, values in DOOR_SWITCHES.items()} == {"say_once": SAY_ONCE, "shape": SHAPES}
    manual = MANUAL.read_text(encoding="utf-8")
    for setting, values in DOOR_SWITCHES.items():
        assert all(f"`{word}`" in manual for word in (setting, *values))


def test_every_value_of_every_rule_can_be_replayed_in_the_lab():
    doors = [made for name, (make, _) in POLICIES.items() if name.startswith("door") and isinstance(made := make(None, None), Door)]
    for rule in door.RULES:
        assert set(rule.values) <= {getattr(made.settings, rule.setting) for made in doors}


def test_no_two_rules_have_one_name_and_the_laws_are_those_that_are_held_to():
    names = [rule.name for rule in door.RULES]
    assert len(names) == len(set(names))
    assert {rule.law for rule in door.RULES} == LAWS.keys()


def test_a_door_is_named_by_what_it_does():
    assert door_settings_of("any+safe") == door.Settings(door.ANY, door.SAFE)
    assert door_settings_of("strong") == door.Settings(door.OFF, door.STRONG)
    assert door_settings_of("off") == door.Settings(door.OFF, door.OFF)
    with pytest.raises(ValueError, match="of reads, any, safe, strong"):
        door_settings_of("all")
