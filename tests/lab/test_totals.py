"""Sums over sessions are the same to the digit, in whatever order the sessions come."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.lab.totals import COUNTS, Total

NAMES = ["nothing", "auto"]
numbers = st.integers(0, 10**9)


@st.composite
def rows(draw: st.DrawFn, name: int) -> dict:
    """A session's row, as `survey.row_of` returns it."""
    requests = draw(st.integers(5, 50))
    scores = {
        policy: {"cost": draw(st.floats(1e-3, 1e12)), "carried": draw(st.integers(1, 10**12)), **{key: draw(numbers) for key in COUNTS}}
        for policy in NAMES
    }
    named = {"path": f"/{name}.jsonl", "repository": draw(st.sampled_from("ab")), "model": draw(st.sampled_from("mn")), "digest": f"{name}"}
    failed = draw(st.dictionaries(st.sampled_from(("own:A", "own:B")), st.sampled_from(("why", "because"))))
    curves = {policy: [draw(numbers)] * requests for policy in NAMES}
    return {
        **named,
        "requests": requests,
        "bytes": draw(numbers),
        "bad_lines": 0,
        "scores": {300: scores},
        "curves": curves,
        "failed": failed,
    }


def told(events: list) -> str:
    total = Total(NAMES, [300])
    for kind, value in events:
        total.take(value) if kind == "row" else total.skip(*value)
    return json.dumps(total.result())


@given(st.data())
def test_any_order_of_the_sessions_has_the_same_result(data: st.DataObject) -> None:
    events = [("row", data.draw(rows(number))) for number in range(data.draw(st.integers(0, 6)))]
    events += [
        ("skip", (f"/s{number}", data.draw(st.sampled_from(("empty", "broken"))))) for number in range(data.draw(st.integers(0, 120)))
    ]
    assert told(events) == told(data.draw(st.permutations(events)))
