"""Agents may change a policy to keep more; any other change waits for the user's approval and applies to their project alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core.state import collection
from popkit_retention.governance import BadRequest, GovernanceDamaged, ResourceNotFound, agent_requests, hourly_job
from popkit_retention.governance.controller import Controller
from popkit_retention.governance.domains import TOOL
from popkit_retention.governance.policies import DEFAULT_POLICY
from popkit_retention.memory.stores.sqlite import SqliteStore
from tests.memory.remembering import DAY, NOW, Remembering

SHOP, OTHER = "shop-0123456789ab", "other-0123456789ab"


class Home:
    """Memories of two projects, ten and sixty days old in each."""

    def __init__(self, path: Path) -> None:
        path.mkdir()
        self.path, self.now = path, NOW
        self.environ = {"POPKIT_HOME": str(path)}
        self.store = SqliteStore(str(path / "memory.sqlite"))
        for project in (SHOP, OTHER):
            for days in (10, 60):
                Remembering(self.store, project).keep(f"{project[0]}{days}", NOW - days * DAY)

    def agent(self, project: str | None = SHOP) -> Controller:
        return Controller(self.environ, TOOL, project, lambda: self.now)

    def user(self) -> Controller:
        return Controller(self.environ, now=lambda: self.now)

    def asks(self, project: str | None = SHOP, domain: str = "memory", **config: object) -> dict:
        with self.agent(project) as controller:
            return controller.configure(domain, config)

    def accepted(self, project: str = SHOP, domain: str = "memory", **config: object) -> dict:
        """What an agent of a project asked for, and the user accepted."""
        with self.user() as controller:
            return controller.accept(self.asks(project, domain, **config)["request"])

    def policy(self, project: str | None = None, domain: str = "memory") -> dict:
        with self.user() as controller:
            return controller.get(domain, project)

    def file(self) -> bytes | None:
        path = self.path / "data/state/retention-policies.json"
        return path.read_bytes() if path.exists() else None

    def ids(self) -> list[str]:
        return [item.id for item in self.store.scan()]


@pytest.fixture
def house(home: Path):
    opened = Home(home)
    yield opened
    with opened.user() as controller:
        assert controller.verify()["ok"], controller.verify()
    opened.store.close()


def test_what_only_keeps_more_holds_at_once(house: Home) -> None:
    answer = house.asks(older_than_days=90, keep_session_ids=["s1"], limit=10)
    assert (answer["success"], answer["policy"]["older_than_days"], answer["revision"]) == (True, 90, 1)
    assert house.policy() == answer["policy"] == house.policy(OTHER)


@pytest.mark.parametrize("config", [{"older_than_days": 7}, {"auto_gc": True}, {"older_than_days": 90, "limit": 9_000}])
def test_anything_else_waits_and_changes_nothing(house: Home, config: dict) -> None:
    before = house.file()
    answer = house.asks(**config)
    assert (answer["success"], answer["asked"], answer["policy"]) == (False, config, DEFAULT_POLICY.to_json())
    assert (house.file(), house.policy(SHOP)) == (before, DEFAULT_POLICY.to_json())
    with house.user() as controller:
        (entry,) = controller.log()["entries"]
        (request,) = controller.requests()["requests"]
    assert (entry["action"], entry["by"], entry["ids"]) == ("requested", "tool", [answer["request"]])
    assert (request["project"], request["asked"], set(request["now"])) == (SHOP, config, set(config))


def test_what_is_accepted_holds_in_the_project_alone(house: Home) -> None:
    with house.user() as controller:
        controller.configure("memory", {"older_than_days": 90})
    answer = house.accepted(older_than_days=7)
    assert (answer["project"], answer["changed"]) == (SHOP, {"older_than_days": [90, 7]})
    assert (house.policy(SHOP)["older_than_days"], house.policy(OTHER)["older_than_days"], house.policy()["older_than_days"]) == (7, 90, 90)
    assert house.policy(SHOP, "rag") == DEFAULT_POLICY.to_json()
    with house.user() as controller:
        assert controller.requests()["requests"] == []
        with pytest.raises(ResourceNotFound, match="waits for your approval"):
            controller.accept(answer["request"])


def test_what_is_declined_is_gone_and_changes_nothing(house: Home) -> None:
    id = house.asks(older_than_days=7)["request"]
    with house.user() as controller:
        assert controller.decline(id)["request"] == id
        assert controller.requests()["requests"] == []
        with pytest.raises(ResourceNotFound):
            controller.accept(id)
    assert house.policy(SHOP) == DEFAULT_POLICY.to_json()


def test_an_agent_answers_no_request(house: Home) -> None:
    id = house.asks(older_than_days=7)["request"]
    with house.agent() as controller:
        for decide in (controller.accept, controller.decline, controller.unset):
            with pytest.raises(BadRequest, match="only the user"):
                decide(id)


def test_who_asks_again_waits_once_and_only_so_many_wait(house: Home) -> None:
    assert house.asks(older_than_days=7)["request"] == house.asks(older_than_days=7)["request"]
    for days in range(2, 2 + agent_requests.MOST_REQUESTS - 1):
        house.asks(older_than_days=days + 0.5)
    with pytest.raises(BadRequest, match="already wait for the user's approval"):
        house.asks(older_than_days=29)
    with house.user() as controller:
        assert len(controller.requests()["requests"]) == agent_requests.MOST_REQUESTS


def test_without_a_project_there_is_nothing_to_ask_for(house: Home) -> None:
    with pytest.raises(BadRequest, match="for one project"):
        house.asks(None, older_than_days=7)
    assert house.asks(None, older_than_days=60)["success"]


def test_what_keeps_more_in_a_project_with_a_policy_of_its_own_changes_that_one(house: Home) -> None:
    house.accepted(older_than_days=7)
    answer = house.asks(older_than_days=20)
    assert (answer["success"], answer["policy"]["older_than_days"]) == (True, 20), "more than is kept there, less than elsewhere"
    assert (house.policy(SHOP)["older_than_days"], house.policy()["older_than_days"]) == (20, 30)


def test_each_project_is_collected_by_its_own_policy(house: Home) -> None:
    house.accepted(older_than_days=7)
    house.accepted(OTHER, older_than_days=20, limit=9_000)
    with house.user() as controller:
        domains = controller.gc("memory")["domains"]
        assert [part.get("project") for part in domains] == [None, OTHER, SHOP]
        assert [[row["id"] for row in part["marks"]] for part in domains] == [[], ["o60"], ["s60", "s10"]]
        house.now += 1.5 * DAY
        controller.gc("memory")
    assert house.ids() == ["o10"]


def test_a_collection_by_the_users_policy_leaves_the_marks_of_other_projects_alone(house: Home) -> None:
    house.accepted(older_than_days=7)
    with house.user() as controller:
        controller.gc("memory")
        assert set(controller.domain("memory").marked()) == {"s10", "s60", "o60"}
        again = controller.gc("memory", dry_run=True)["domains"]
        assert [part["unmarked"] for part in again] == [[], []]
        controller.unset(SHOP)
        (collected,) = controller.gc("memory")["domains"]
        assert [row["id"] for row in collected["unmarked"]] == ["s10"], "what the user's policy keeps is kept again"


def test_what_a_project_keeps_longer_than_the_user_stays(house: Home) -> None:
    """Its agent asked for one thing less and another more, as a whole."""
    house.accepted(older_than_days=365, limit=9_000)
    with house.user() as controller:
        (users, own) = controller.gc("memory")["domains"]
    assert [row["id"] for row in users["marks"]] == ["o60"]
    assert own["marks"] == []


def test_apply_status_explain_and_archive_go_by_the_policy_of_the_project(house: Home) -> None:
    house.accepted(older_than_days=7)
    with house.user() as controller:
        applied = controller.apply("memory")
        assert [row["id"] for row in applied["eligible"]] == ["o60"]
        assert [(part["project"], part["counts"]["eligible"], part["policy_applied"]["older_than_days"]) for part in applied["own"]] == [
            (SHOP, 2, 7)
        ]
        status = controller.status("memory")
        assert [part["counts"]["total"] for part in status["domains"]] == [2]
        assert [(part["project"], part["counts"]["total"]) for part in status["own"]] == [(SHOP, 2)]
        assert (controller.explain("s10")["state"], controller.explain("o10")["state"]) == ("eligible", "kept")
        assert controller.archive("memory")["resource_count"] == 3
    with house.agent() as agent:
        assert agent.get("memory")["older_than_days"] == agent.policies()["memory"]["older_than_days"] == 7
        assert "projects" not in agent.policies(), "what holds elsewhere is none of its business"
        planned = agent.apply("memory")
        assert ([row["id"] for row in planned["eligible"]], "own" in planned) == (["s60", "s10"], False)


def test_the_hourly_job_collects_where_a_policy_has_auto_gc_and_nowhere_else(house: Home) -> None:
    assert not collection.is_collection_wanted(str(house.path))
    house.accepted(auto_gc=True, older_than_days=7)
    assert collection.is_collection_wanted(str(house.path))
    (collected,) = hourly_job.collect(house.environ, lambda: house.now)["domains"]
    assert (collected["project"], [row["id"] for row in collected["marks"]]) == (SHOP, ["s60", "s10"])


def test_where_the_user_collects_a_project_is_left_out_that_has_asked_for_that(house: Home) -> None:
    with house.user() as controller:
        controller.configure("memory", {"auto_gc": True})
    house.accepted(auto_gc=False, older_than_days=7)
    (collected,) = hourly_job.collect(house.environ, lambda: house.now)["domains"]
    assert ("project" in collected, [row["id"] for row in collected["marks"]]) == (False, ["o60"])


def test_history_tells_whose_policy_changed_and_a_rollback_takes_it_back(house: Home) -> None:
    with house.user() as controller:
        controller.configure("memory", {"limit": 7})
    house.accepted(older_than_days=7)
    house.accepted(domain="rag", limit=9_000)
    with house.user() as controller:
        versions = [
            (version["revision"], version["domain"], version.get("project"), version["changed"])
            for version in controller.history()["versions"]
        ]
        assert versions == [
            (3, "rag", SHOP, {"limit": [5_000, 9_000]}),
            (2, "memory", SHOP, {"older_than_days": [30, 7]}),
            (1, "memory", None, {"limit": [5_000, 7]}),
        ]
        assert controller.rollback(1, "memory")["domains"] == ["memory"]
        assert controller.get("memory", SHOP) == controller.get("memory")
        assert controller.get("rag", SHOP)["limit"] == 9_000, "the other domain stays"
        controller.rollback(3)
        assert controller.get("memory", SHOP)["older_than_days"] == 7


def test_a_projects_own_policy_ends_when_the_user_says_so(house: Home) -> None:
    house.accepted(older_than_days=7)
    house.accepted(domain="rag", limit=9_000)
    with house.user() as controller:
        assert controller.unset(SHOP, "rag")["domains"] == ["rag"]
        assert controller.unset(SHOP)["domains"] == ["memory"]
        with pytest.raises(ResourceNotFound, match="no memory policy of its own"):
            controller.unset(SHOP)
        assert controller.policies()["projects"] == {}


def test_a_file_without_project_policies_is_read_and_gains_them_at_the_next_change(house: Home) -> None:
    with house.user() as controller:
        controller.configure("memory", {"limit": 7})
    path = house.path / "data/state/retention-policies.json"
    earlier = {key: value for key, value in json.loads(path.read_text()).items() if key != "projects"}
    path.write_text(json.dumps({**earlier, "version": 2}))
    assert house.policy(SHOP)["limit"] == 7
    house.accepted(limit=9_000)
    now = json.loads(path.read_text())
    assert (now["version"], now["memory"]["limit"], list(now["projects"]["memory"])) == (3, 7, [SHOP])


def test_a_projects_policy_that_somebody_else_has_changed_is_found_out(house: Home) -> None:
    house.accepted(older_than_days=7)
    path = house.path / "data/state/retention-policies.json"
    sound = path.read_text()
    path.write_text(sound.replace('"older_than_days": 7', '"older_than_days": 1'))
    with house.user() as controller:
        (problem,) = controller.verify()["problems"]
        assert "the policy of memory is not what was configured" in problem["what"]
    path.write_text(sound.replace('"released": {}', '"released": 5'))
    with house.user() as controller, pytest.raises(GovernanceDamaged, match="projects"):
        controller.get("memory")
    path.write_text(sound)


def test_what_an_acceptance_killed_after_its_entry_left_is_made_by_who_comes_next(house: Home) -> None:
    house.accepted(older_than_days=7)
    path = house.path / "data/state/retention-policies.json"
    with house.user() as controller:
        log = controller.opened()
        (entry,) = log.entries(1, action="configured")
        state = {
            **json.loads(path.read_text()),
            "revision": entry.details["revision"] + 1,
            "memory": {**DEFAULT_POLICY.to_json(), "limit": 3},
        }
        details = {**entry.details, "revision": state["revision"], "policies": {"memory": state["memory"], "rag": state["rag"]}}
        log.append("configured", "memory", [], details, "user", house.now, {"do": "configure", "state": state})
    assert (house.policy(SHOP)["limit"], house.policy(SHOP)["older_than_days"]) == (3, 7)
