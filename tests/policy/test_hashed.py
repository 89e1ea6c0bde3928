"""Numbers by the hashes of names are those of a table of the names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy.hashed import Numbers

NAMES = st.one_of(st.text(max_size=3), st.tuples(st.text(max_size=2), st.booleans()))
PAIRS = st.lists(st.tuples(NAMES, st.integers(-5, 1 << 40)), max_size=30)


@given(PAIRS, PAIRS, st.lists(NAMES))
def test_they_answer_as_a_table_of_names_would(first: list, then: list, asked: list):
    table, numbers = dict([*first, *then]), Numbers(first)
    for name, number in then:
        numbers[name] = number
    assert len(numbers) == len(table)
    assert numbers.values() == sorted(table.values())
    for name in (*asked, *table):
        assert (name in numbers) == (name in table)
        assert numbers.get(name, -9) == table.get(name, -9)
    assert numbers.bytes == 16 * len(table)
