"""A context is opened as it was stored, or anew under what the session has chosen; and follows what is journalled."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from popkit_retention.core.io import files
from popkit_retention.core.policy import events
from popkit_retention.core.policy.context import OUTSIDE
from popkit_retention.core.state import journal, noting, opening, store
from popkit_retention.core.state.site import Site
from tests.patience import HANG_S
from tests.policy.scenario import Scenario


@pytest.fixture
def site(tmp_path: Path) -> Site:
    model = {"read": 0.1, "write_5m": 1.25, "write_1h": 2.0, "tokens": 1.5}
    (tmp_path / "retention-config.json").write_text(json.dumps({"models": {"by_id": {"m": model}}, "profile": "conservative"}))
    return Site({"POPKIT_HOME": str(tmp_path)}, "s1", "/p")


def stored(site: Site, agent_id: str = "", calls: int = 3) -> store.ContextFiles:
    scenario = Scenario()
    for number in range(calls):
        scenario.read(f"{number}.py", text=f"line {number}\n" * 30)
    scenario.edit("0.py")
    paths = site.paths(agent_id)
    context = store.StoredState(scenario.state)
    context.state.profile = "spec"
    with paths.locked():
        store.save(paths, context, site.rules_for("spec"))
    return paths


def test_a_new_context_has_the_profile_and_the_model_of_its_session(site: Site) -> None:
    context, rules = opening.open_context(site, site.paths(), None)
    assert (context.state.session_id, context.state.agent_id, context.state.profile, context.state.calibration) == ("s1", "", None, 1.0)
    assert rules.profile == "conservative"
    site.remember(profile="aggressive", model="m")
    context, rules = opening.open_context(site, site.paths(), None)
    assert (context.state.profile, rules.profile) == ("aggressive", "aggressive")
    context, rules = opening.open_context(site, site.paths("a1"), None)
    assert (context.state.agent_id, context.state.profile, context.state.calibration) == ("a1", "aggressive", 1.5)
    assert rules.profile == "aggressive"


@pytest.mark.parametrize("rest_from", [0, 1])
@pytest.mark.parametrize(("agent_id", "profile"), [("", "spec"), ("a1", "aggressive")])
def test_a_stored_context_keeps_its_profile_and_an_agent_s_follows_the_session(
    site: Site, agent_id: str, profile: str, rest_from: int
) -> None:
    paths = stored(site, agent_id)
    site.remember(profile="aggressive", model="m")
    context, rules = opening.open_context(site, paths, store.load(paths, rest_from))
    assert (context.state.profile, rules.profile, context.state.calibration) == (profile, profile, 1.0)
    assert sorted(context.state.live) == ["T2", "T3", "T4"]
    assert list(context.state.by_key["read:/p/1.py"]) == ["T2"]


def test_what_is_noted_is_journalled_and_followed(site: Site) -> None:
    paths = stored(site)
    changed = journal.files_changed({"/p/2.py": "modified"}, 5.5)
    entries = [changed, journal.pinned("T2", 5.0), journal.profile_chosen("aggressive", 6.0), {"event": "odd"}]
    noting.note(site, paths, entries, events.ClearedOutside(["T3"], 7.0, "so"))
    assert journal.read(paths) == entries
    context = store.load(paths)
    assert context is not None
    assert (context.state.pins, context.state.profile) == (["T2"], "aggressive")
    expired = store.read_expired(paths, context.state)
    assert (list(expired), expired["T3"].cleared, expired["T3"].ended[0]) == (["T1", "T3"], OUTSIDE, "changed_on_disk")


def test_where_another_holds_the_lock_what_is_noted_is_journalled_alone(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    paths, entry = stored(site), journal.pinned("T2", 5.0)
    with paths.locked(), ThreadPoolExecutor(1) as other:
        monkeypatch.setattr(files.patience, "left_s", 0.0)
        other.submit(noting.note, site, paths, [entry]).result(HANG_S)
    known = store.load(paths)
    assert known is not None
    assert (journal.read(paths), known.state.pins) == ([entry], [])


def test_without_a_state_what_is_noted_is_journalled_alone(site: Site) -> None:
    noting.note(site, site.paths(), [journal.pinned("T2", 5.0)])
    assert (journal.read(site.paths()), store.load(site.paths())) == ([journal.pinned("T2", 5.0)], None)


@pytest.mark.parametrize("calls", [3, 300])
@pytest.mark.parametrize("id", ["T2", "T1", "T9999"])
def test_a_state_follows_what_entered_shorter_where_it_knows_the_result(site: Site, id: str, calls: int) -> None:
    paths = stored(site, calls=calls)
    before = Path(paths.state).read_bytes(), Path(paths.expired).read_bytes()
    assert (len(before[0]) > opening.REST_FROM) == (calls == 300)
    entered = journal.event_of(journal.entered(id, [], "abcd2345", 900, 200, 7, ["noise"], 5.0))
    assert entered is not None
    noting.note_entered(site, paths, entered)
    context = store.load(paths)
    assert context is not None
    found = context.state.live.get(id) or store.read_expired(paths, context.state).get(id)
    assert (found.tokens if found else None) == (7 if id != "T9999" else None)
    assert len(context.state.live) == calls
    changed = Path(paths.state).read_bytes() != before[0], Path(paths.expired).read_bytes() != before[1]
    assert changed == {"T2": (True, False), "T1": (True, True), "T9999": (False, False)}[id]


def test_without_files_nothing_follows(site: Site) -> None:
    entered = journal.event_of(journal.entered("T1", [], "abcd2345", 900, 200, 7, ["noise"], 5.0))
    noting.note_entered(site, site.paths(), entered)
    assert sorted(path.name for path in Path(site.paths().folder).iterdir()) == ["main.lock"]
