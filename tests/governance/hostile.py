"""What callers send that no policy and no resource can hold, and resources of every kind."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from popkit_retention.governance.domains.rules import DAY_S, ON_HOLD, PINNED, PLACEHOLDER, Resource
from popkit_retention.governance.policies import KEYS, SOURCE_TYPES, RetentionPolicy
from tests.governance.stored import NOW

WRONG_NUMBERS = (float("nan"), float("inf"), float("-inf"), None, True, False, "30", "", "Infinity", [], {}, object(), b"30", 3j)
VALUES = (*WRONG_NUMBERS, -1, 0, 1, 2.5, 1e308, -1e308, 10**400, -(10**400), 10**5000, "x" * 10_000, "\x1b[31m", "\ud800", ["\ud800"], [[]])
_ids = st.sampled_from(["a", "b", "c", "session-1", "é"])
_odd = st.sampled_from(VALUES)

policies = st.builds(
    RetentionPolicy,
    older_than_days=st.one_of(st.integers(1, 3650), st.floats(1, 3650)),
    source_types=st.lists(st.sampled_from(SOURCE_TYPES), min_size=1, unique=True).map(tuple),
    keep_session_ids=st.lists(_ids, unique=True, max_size=3).map(tuple),
    keep_context_ids=st.lists(st.integers(1, 9), unique=True, max_size=3).map(tuple),
    limit=st.one_of(st.integers(1, 5), st.just(20_000)),
)
resources = st.lists(
    st.builds(
        Resource,
        id=st.uuids().map(str),
        created_at=st.one_of(st.none(), st.floats(NOW - 3700 * DAY_S, NOW + DAY_S)),
        source_type=st.sampled_from((*SOURCE_TYPES, "", "audit")),
        sessions=st.lists(_ids, max_size=2).map(tuple),
        context_id=st.one_of(st.none(), st.integers(1, 9)),
        vetoes=st.sampled_from(((), (), (), (ON_HOLD,), (PINNED, PLACEHOLDER))),
    ),
    max_size=30,
)
configs = st.dictionaries(st.sampled_from(KEYS), st.one_of(_odd, st.integers(), st.floats(), st.lists(_ids), st.lists(st.integers())))
described = st.fixed_dictionaries(
    {},
    optional={
        "id": st.one_of(_odd, _ids, st.integers()),
        "created_at": st.one_of(_odd, st.floats(), st.datetimes().map(str), st.text(max_size=45)),
        "source_type": st.one_of(_odd, st.sampled_from(SOURCE_TYPES)),
        "session_id": st.one_of(_odd, _ids),
        "context_id": st.one_of(_odd, st.integers(1, 9)),
    },
)


def numbered(values: Iterable[object]) -> list[str]:
    """Names for tests of such values, some of which cannot be printed."""
    return [f"{number}-{type(value).__name__}" for number, value in enumerate(values)]
