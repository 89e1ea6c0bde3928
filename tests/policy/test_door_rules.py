"""Every rule of the door's table: its law, its switch, its words, and its place in the lab; listings with numbers and without."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from benchmarks.hidden_failures import SHELLS, hidden_lines
from popkit_retention.core.policy import door
from popkit_retention.core.policy.door.numbering import listed
from popkit_retention.core.policy.door.rules import ANY, OFF, RULES, SAFE, STRONG, Rule
from popkit_retention.core.policy.ruleset import SAY_ONCE, SHAPES
from popkit_retention.lab.door_policy import DOOR_SWITCHES, Door, door_settings_of
from popkit_retention.lab.replay_policies import POLICIES
from tests.examples import examples
from tests.policy.door_laws import LAWS, Context, Result, results
from tests.policy.entering import FORMS, DoorContext, body, read_of, references

SWITCHED = [pytest.param(rule, value, id=f"{rule.name}-{value}") for rule in RULES for value in rule.values]
MANUAL = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"


def alone(rule: Rule, value: str) -> Context:
    return Context(door_settings_of(value), (rule,))


@pytest.mark.parametrize(("rule", "value"), SWITCHED)
@given(data=st.data())
@settings(max_examples=examples(60, 10_000))
def test_what_a_rule_leaves_out_keeps_its_law_and_is_reported(rule: Rule, value: str, data: st.DataObject):
    context, law = alone(rule, value), LAWS[rule.law]
    for result in data.draw(st.one_of(law.results, law.results, results)):
        entry = context.arrives(result)
        if entry.text == result.text:
            assert entry == (result.text, (), ())
        else:
            law.holds(result, entry.text, context.reader)
            [reason] = entry.reasons
            noun, ending = rule.words
            assert re.fullmatch(rf"(1 {noun}|(?!1 )[\d,]+ {noun}s){re.escape(ending)}", reason)
        context.is_seen(result, entry)


@pytest.mark.parametrize(("rule", "value"), SWITCHED)
def test_of_the_results_that_its_law_is_tried_with_a_rule_shortens_some(rule: Rule, value: str):
    def shortens(arriving: list[Result]) -> bool:
        context = alone(rule, value)
        return any(context.arrives(result).reasons for result in arriving)

    find(LAWS[rule.law].results, shortens, settings=settings(max_examples=5_000, phases=[Phase.generate], database=None, derandomize=True))


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
@given(arriving=results)
@settings(max_examples=examples(20, 2_000))
def test_a_rule_that_is_off_and_the_same_call_at_once_again_leave_nothing_out(rule: Rule, arriving: list[Result]):
    off, on = alone(rule, OFF), alone(rule, rule.values[-1])
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


def test_the_rules_switches_are_all_that_can_be_set_and_the_manual_names_them():
    assert {setting: (OFF, *values) for setting, values in DOOR_SWITCHES.items()} == {"say_once": SAY_ONCE, "shape": SHAPES}
    manual = MANUAL.read_text(encoding="utf-8")
    for setting, values in DOOR_SWITCHES.items():
        assert all(f"`{word}`" in manual for word in (setting, *values))


def test_every_value_of_every_rule_can_be_replayed_in_the_lab():
    doors = [policy for name, (make, _) in POLICIES.items() if name.startswith("door") and isinstance(policy := make(None, None), Door)]
    for rule in RULES:
        assert set(rule.values) <= {getattr(policy.settings, rule.setting) for policy in doors}


def test_no_two_rules_have_one_name_and_the_laws_are_those_that_are_held_to():
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
    assert {rule.law for rule in RULES} == LAWS.keys()


def test_a_door_is_named_by_what_it_does():
    assert door_settings_of("any+safe") == door.Settings(ANY, SAFE)
    assert door_settings_of("strong") == door.Settings(OFF, STRONG)
    assert door_settings_of("off") == door.Settings(OFF, OFF)
    with pytest.raises(ValueError, match="of reads, any, safe, strong"):
        door_settings_of("all")


# --- listings ----------------------------------------------------------------------------------------------------------------------------

LISTED = re.compile(r"( *)([0-9]+)(→|\t)")


def _put_back(before: str, hidden: list[str]) -> list[str]:
    """Lines as they stood behind one with a listing's number, or without."""
    numbered = LISTED.match(before)
    if numbered is None:
        return hidden
    width = len(numbered[1]) + len(numbered[2])
    return [f"{number:>{width}}{numbered[3]}{line}" for number, line in enumerate(hidden, int(numbered[2]) + 1)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("other", FORMS)
def test_a_read_repeats_a_read_in_either_form_of_numbers_and_from_another_line_on(form: str, other: str):
    context = DoorContext()
    context.reads(["\tif ready:", *(f"\t\t{line}" for line in body("a"))], 1, form)
    entry = context.reads([f"\t\t{line}" for line in body("a")], 41, other)
    assert entry.leans_on == ("toolu_1",)
    entered = entry.text.split("\n")
    assert entered[0] == FORMS[other].format(number=41, line="\t\t" + body("a")[0])
    assert entered[2] == FORMS[other].format(number=70, line="\t\t" + body("a")[-1])


@pytest.mark.parametrize("one", ["raw", *FORMS])
@pytest.mark.parametrize("other", ["raw", *FORMS])
def test_a_listing_repeats_what_any_other_tool_has_printed_with_numbers_or_without(one: str, other: str):
    lines = body("a")
    texts = {"raw": "\n".join(lines), **{form: read_of(lines, 90, form) for form in FORMS}}
    context = DoorContext()
    context.arrives(texts[one])
    entry = context.arrives("The file now reads:\n" + texts[other] + "\nDone.")
    assert entry.leans_on == ("toolu_1",)
    entered, whole = entry.text.split("\n"), texts[other].split("\n")
    assert entered[:2] == ["The file now reads:", whole[0]]
    assert entered[3:] == [whole[-1], "Done."]


@pytest.mark.parametrize("numbers", [[5, 9, 11, 30, 31, 70, 71, 90, 91, 95] * 2, list(range(20, 0, -1)), [7] * 20])
def test_numbers_that_do_not_count_on_are_part_of_their_lines(numbers: list[int]):
    context = DoorContext()
    lines = body("a", 20)
    context.arrives("\n".join(lines))
    text = "\n".join(f"{number}\t{line}" for number, line in zip(numbers, lines))
    assert context.arrives(text) == (text, (), ())


def test_where_the_numbers_jump_a_run_ends():
    context = DoorContext()
    lines = body("a", 30)
    context.reads(lines)
    entry = context.arrives(read_of(lines[:15], 1) + "\n" + read_of(lines[15:], 101), "Grep")
    kept = [line for line in entry.text.split("\n") if not references(line)]
    assert kept == [f"{number:>6}→{lines[at]}" for number, at in ((1, 0), (15, 14), (101, 15), (115, 29))]


@given(
    st.lists(
        st.builds(
            "{}{}{}".format,
            st.sampled_from(["", " ", "     ", "0", "1", "9"]),
            st.integers(0, 12),
            st.sampled_from(["→x", "\tx", "x", "→1\t", ""]),
        ),
        max_size=12,
    )
)
@settings(max_examples=examples(50, 10_000))
def test_the_stretches_of_a_listing_cover_it_and_number_all_of_their_lines_or_none(whole: list[str]):
    lines, stretches = listed(whole)
    assert [at for begin, end, _ in stretches for at in range(begin, end)] == list(range(len(whole)))
    for begin, end, first in stretches:
        changed = [lines[at] != whole[at] for at in range(begin, end)]
        assert all(changed) if first is not None else not any(changed)
        if all(changed):
            assert [*whole[begin : begin + 1], *_put_back(whole[begin], lines[begin + 1 : end])] == whole[begin:end]
