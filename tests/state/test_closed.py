"""A session ends once it is clear that nobody resumes it: a new one of its project has begun, or half a day has passed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core.policy.occasions import RESUMED_WITHIN_S
from popkit_retention.core.state import closed
from tests.hooks import payloads, processes

NOW = 1_800_000_000.0
RUN = "Bash npm test"


class Shop:
    """A project whose sessions one client after another runs."""

    def __init__(self, folder: Path):
        self.home = processes.Home(folder)
        self.folder = folder / "shop"
        self.folder.mkdir()
        self.now = NOW

    def happens(self, session: str, payload: dict, project: Path | None = None) -> None:
        env = self.home.env(POPKIT_CLOCK=str(self.now))
        cwd = str(project or self.folder)
        assert processes.run_event({**payload, "session_id": session, "cwd": cwd, "transcript_path": ""}, env).silent
        self.now += 1

    def tests_pass(self, session: str) -> None:
        self.happens(session, payloads.session_start("startup"))
        self.happens(session, payloads.prompt("run the tests"))
        self.happens(session, payloads.bash("npm test", "12 passing"))
        self.happens(session, payloads.session_end("prompt_input_exit"))

    def live(self, session: str) -> list[str]:
        return [result.label for result in self.home.state(session).live.values()]

    def listed(self) -> list[str]:
        path = self.home.path / closed.NAME
        return sorted(json.loads(path.read_text())) if path.exists() else []

    def journal(self, session: str) -> list[str]:
        path = self.home.path / "sessions" / session / "main.journal.jsonl"
        return [json.loads(line)["event"] for line in path.read_text().splitlines()]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_one_client_for_each_prompt_is_one_session(shop: Shop):
    shop.tests_pass("one")
    for _ in range(3):
        shop.now += 600
        shop.happens("one", payloads.session_start("resume"))
        shop.happens("one", payloads.prompt("go on"))
        shop.happens("one", payloads.stop())
        shop.happens("one", payloads.session_end("other"))
    assert shop.live("one") == [RUN]
    assert shop.journal("one") == ["end", "resumed"] * 3 + ["end"]


def test_a_new_session_of_the_project_ends_those_whose_client_has_ended(shop: Shop):
    shop.tests_pass("one")
    shop.happens("two", payloads.session_start("startup"))
    assert shop.live("one") == []
    assert shop.listed() == []
    assert shop.journal("one")[-1] == "over"


@pytest.mark.parametrize("source", ["clear", "compact", "resume"])
def test_what_is_no_new_session_ends_no_other_one(shop: Shop, source: str):
    shop.tests_pass("one")
    shop.happens("two", payloads.session_start(source))
    assert shop.live("one") == [RUN]


def test_a_session_of_another_project_ends_nothing_here(shop: Shop, tmp_path: Path):
    shop.tests_pass("one")
    shop.happens("two", payloads.session_start("startup"), tmp_path)
    assert shop.live("one") == [RUN]


@pytest.mark.parametrize("goes_on", [payloads.session_start("resume"), payloads.prompt("go on"), payloads.bash("ls")])
def test_a_session_that_goes_on_is_ended_by_no_new_one(shop: Shop, goes_on: dict):
    shop.tests_pass("one")
    shop.happens("one", goes_on)
    shop.happens("two", payloads.session_start("startup"))
    assert RUN in shop.live("one")


def test_after_half_a_day_a_session_that_is_resumed_had_ended(shop: Shop):
    shop.tests_pass("one")
    shop.now += RESUMED_WITHIN_S
    shop.happens("one", payloads.session_start("resume"))
    shop.happens("one", payloads.prompt("go on"))
    assert shop.live("one") == []


def test_a_session_that_holds_nothing_is_not_listed(shop: Shop):
    shop.happens("one", payloads.session_start("startup"))
    shop.happens("one", payloads.session_end("other"))
    assert shop.listed() == []


def test_the_list_forgets_what_time_has_ended(shop: Shop):
    shop.tests_pass("one")
    shop.now += RESUMED_WITHIN_S
    shop.tests_pass("two")
    assert shop.listed() == ["two"]


def test_a_list_that_cannot_be_read_harms_nothing(shop: Shop):
    shop.tests_pass("one")
    for text in ("[]", "{", '{"one": 7, "two": ["/shop", "now"]}'):
        (shop.home.path / closed.NAME).write_text(text)
        shop.happens("two", payloads.session_start("startup"))
    assert shop.live("one") == [RUN]
    assert shop.home.failures() == []


# --- the list -----------------------------------------------------------------------------------------------------------------------------


def test_a_session_is_listed_with_its_project_from_its_end_until_it_goes_on(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert (closed.is_any(home), closed.listed(home)) == (False, {})
    closed.add(home, "one", "/shop", NOW)
    closed.add(home, "two", "/other", NOW + 1)
    closed.add(home, "one", "/shop", NOW + 2)
    assert (closed.is_any(home), closed.listed(home)) == (True, {"two": ["/other", NOW + 1], "one": ["/shop", NOW + 2]})
    closed.remove(home, "two")
    assert list(closed.listed(home)) == ["one"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["closed.json", "closed.json.lock"]
    assert all(stored.owns(home, path.name) for path in tmp_path.iterdir() for stored in closed.STORAGE)
    before = (tmp_path / closed.NAME).stat().st_mtime_ns, (tmp_path / closed.NAME).stat().st_ino
    closed.remove(home, "two")
    assert ((tmp_path / closed.NAME).stat().st_mtime_ns, (tmp_path / closed.NAME).stat().st_ino) == before, "nothing is written"


def test_who_can_no_longer_be_resumed_leaves_the_list(tmp_path: Path) -> None:
    for number, age in enumerate((RESUMED_WITHIN_S, RESUMED_WITHIN_S - 1, 0)):
        closed.add(str(tmp_path), f"s{number}", "/shop", NOW - age)
    assert list(closed.listed(str(tmp_path))) == ["s1", "s2"]


def test_a_thousand_sessions_are_listed_the_oldest_leave(tmp_path: Path) -> None:
    rows = {f"s{number}": ["/shop", NOW] for number in range(1_000)}
    (tmp_path / closed.NAME).write_text(json.dumps(rows))
    closed.remove(str(tmp_path), "s0")
    closed.add(str(tmp_path), "s1000", "/shop", NOW)
    listed = list(closed.listed(str(tmp_path)))
    assert (len(listed), listed[0], listed[-1]) == (1_000, "s1", "s1000")
    closed.add(str(tmp_path), "s1001", "/shop", NOW)
    listed = list(closed.listed(str(tmp_path)))
    assert (len(listed), listed[0], listed[-1]) == (1_000, "s2", "s1001")


@pytest.mark.parametrize("row", [7, [], ["/shop"], ["/shop", "now"], ["/shop", 1.0, 2], {"at": 1}, None])
def test_a_row_that_is_none_is_not_listed(tmp_path: Path, row: object) -> None:
    (tmp_path / closed.NAME).write_text(json.dumps({"odd": row, "one": ["/shop", NOW]}))
    assert closed.listed(str(tmp_path)) == {"one": ["/shop", NOW]}


def test_where_the_list_cannot_be_written_time_alone_tells(tmp_path: Path) -> None:
    (tmp_path / closed.NAME).mkdir()
    closed.add(str(tmp_path), "one", "/shop", NOW)
    closed.remove(str(tmp_path), "one")
    assert closed.listed(str(tmp_path)) == {}
