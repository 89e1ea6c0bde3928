"""A stored state is read field by field: what is of another type keeps its default, and without its counters it is no state."""

from __future__ import annotations

from typing import Any

import pytest

from popkit_retention.core.policy.context import ContextState, state_of

PLAIN = ContextState("s1", "a1").to_json()
TREE = {"at": "main", "before": ""}
READ: dict[str, tuple[Any, Any]] = {
    "at": (7, "7"), "closed": (1.5, None), "cwd": ("/p", 7), "prompt_id": ("p1", 7), "prompted": (True, 1), "profile": ("spec", ["spec"]),
    "edits": ({"1": 4}, [4]), "holds": ({"T1": 9}, "T1"), "trees": ({"/p": TREE}, [TREE]), "calibration": (1.2, "1.2"), "unit": (2.0, "2"),
    "recent": ({"read|abcd": "short"}, []),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_a_field_is_read_where_it_is_of_its_type_and_else_keeps_its_default(name: str):
    good, bad = READ[name]
    assert state_of({**PLAIN, name: good}).to_json() == {**PLAIN, name: good}
    assert state_of({**PLAIN, name: bad}).to_json() == PLAIN
    if name != "unit":  # a state without it was estimated in another way
        assert state_of({key: value for key, value in PLAIN.items() if key != name}).to_json() == PLAIN


@pytest.mark.parametrize("name", ["schema", "index", "turn", "epoch", "pins", "live"])
@pytest.mark.parametrize("wrong", ["3", None, {}])
def test_without_its_counters_its_pins_and_its_results_it_is_no_state(name: str, wrong: object):
    for plain in ({**PLAIN, name: wrong}, {key: value for key, value in PLAIN.items() if key != name}):
        with pytest.raises(ValueError, match="state"):
            state_of(plain)


@pytest.mark.parametrize(
    ("name", "stored", "read"),
    [
        ("pins", ["T1", 7, None], ["T1"]), ("edits", {"1": 4, "2": "4"}, {"1": 4}), ("holds", {"T1": 9, "T2": 9.5}, {"T1": 9}),
        ("trees", {"/p": TREE, "/q": {"at": "main"}, "/r": {**TREE, "at": 7}, "/s": 7}, {"/p": TREE}),
        ("unit", 0, 1.0), ("unit", -1.5, 1.0),
    ],
)  # fmt: skip
def test_what_a_field_holds_is_read_as_far_as_it_is_understood(name: str, stored: object, read: object):
    assert state_of({**PLAIN, name: stored}).to_json() == {**PLAIN, name: read}


@pytest.mark.parametrize(("calibration", "unit"), [(2.0, 0.5), (0, 1.0), (-4, 1.0)])
def test_a_state_that_names_no_unit_has_the_one_of_its_calibration(calibration: float, unit: float):
    plain = {key: value for key, value in PLAIN.items() if key != "unit"}
    assert state_of({**plain, "calibration": calibration}).unit == unit
