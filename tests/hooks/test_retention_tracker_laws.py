"""What holds whatever RetentionTracker observes, and whatever events its driver reports."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.io.codec import dumps, loads
from popkit_retention.core.policy import engine
from popkit_retention.core.policy.context import state_of
from popkit_retention.core.retention_tracker import RetentionTracker
from tests.policy.histories import HOSTILE, histories

_KINDS = st.sampled_from(["edit", "edit_file", "commit", "session_end", "supersede"])
_EVENTS = st.sampled_from(["edit:/p/a.py", "commit", "commit:/p/src/b.py", "session_end", "supersede:call:tasks", "supersede:edit:/p/a.py"])


@given(histories(profiles=False, longest=20), st.lists(st.tuples(st.integers(0, 3), _EVENTS), min_size=1, max_size=4))
def test_events_that_a_driver_reports_keep_the_laws(history, events):
    tracker = RetentionTracker()
    for event in history:
        tracker.observe(event)
    for calls, name in events:
        live, expired = dict(tracker.state.live), set(tracker.state.expired)
        marked = tracker.check_expirations(tracker.current_index + calls, [name])
        assert set(marked) == set(live) - set(tracker.state.live) == set(tracker.state.expired) - expired
        assert len(marked) == len(set(marked))
        assert not any(live[id].pinned or live[id].tier == "preserved" for id in marked)
        assert all(tracker.state.expired[id].ended[4] for id in marked)
    kept = [{key: set(held) for key, held in index.items()} for index in (tracker.state.by_key, tracker.state.by_hash)]
    engine.reindex(tracker.state, tracker.rules)
    assert kept == [{key: set(held) for key, held in index.items()} for index in (tracker.state.by_key, tracker.state.by_hash)]


@given(
    st.lists(HOSTILE, max_size=6),
    st.lists(st.tuples(st.integers(-(10**40), 500), _EVENTS | st.builds("{}:{}".format, _KINDS, st.text())), max_size=6),
)
def test_no_event_of_a_driver_makes_the_tracker_raise_or_its_state_unsavable(history, events):
    tracker = RetentionTracker()
    for event in history:
        tracker.observe(event)
    for index, name in events:
        tracker.check_expirations(index, [name])
        assert state_of(loads(dumps(tracker.state.to_json()))).to_json() == tracker.state.to_json()
        assert set(tracker.state.live) & set(tracker.state.expired) == set()
