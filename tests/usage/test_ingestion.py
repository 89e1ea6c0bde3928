"""The usage of a session is recorded once, whatever becomes of its files meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from popkit_retention.core.io import home
from popkit_retention.core.state import session
from popkit_retention.usage import incremental_reading, ingestion
from popkit_retention.usage.configured_database import open_local
from popkit_retention.usage.records import CLIENT, DAY_S, KEPT_DAYS
from tests.kit.forks import Forks
from tests.usage.homes import NOW, House, all_catch_up, answer, append, user_line
from tests.usage.records import book, used


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The lines of transcripts that are looked at."""
    lines: list[bytes] = []
    real = ingestion.used_of

    def looked(line: bytes, *rest: object, **more: object) -> object:
        lines.append(line)
        return real(line, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(ingestion, "used_of", looked)
    return lines


# --- transcripts -------------------------------------------------------------------------------------------------------------------------


def test_where_no_session_is_known_nothing_is_made(house: House) -> None:
    assert house.catch_up() == 0
    assert not house.home.exists()


def test_what_a_session_used_is_booked_once_with_what_the_cache_costs(house: House) -> None:
    path = house.begin()
    append(path, user_line("go"), answer("m1", 1), answer("m1", 1), answer("m1"), answer("m2"))
    append(path.with_suffix("") / "subagents" / "agent-a.jsonl", answer("m3"))
    assert house.catch_up() == 3
    assert house.used()[:5] == (3, 3, 6, 21, 15)
    assert house.used().usd == pytest.approx(3 * ((1 + 2 * 0.025 + 4 * 1.25 + 3 * 2) * 8 + 5 * 40) / 1e6)
    assert house.catch_up() == 0
    assert house.used().requests == 3


def test_it_is_booked_to_the_user_and_the_project(house: House) -> None:
    house.configure(user="dana")
    append(house.begin(), answer("m1"))
    house.catch_up()
    with open_local(house.environ) as store:
        (booked,) = store.by_session()
    assert (booked.session_id, booked.user_id, booked.project, booked.at) == ("s1", "dana", "/shop", NOW)


def test_only_what_is_new_is_read(house: House, taken: list[bytes]) -> None:
    path = house.begin()
    append(path, answer("m1"), answer("m2"))
    house.catch_up()
    taken.clear()
    house.catch_up()
    assert taken == []
    append(path, user_line("more"), answer("m3"))
    house.catch_up()
    assert taken == [user_line("more"), answer("m3")]
    assert house.used().requests == 3


def test_a_subagent_that_begins_later_is_found(house: House) -> None:
    path = house.begin()
    append(path, answer("m1"))
    house.catch_up()
    append(path.with_suffix("") / "subagents" / "agent-a.jsonl", answer("m2"))
    house.catch_up()
    assert house.used().requests == 2


def test_a_line_that_the_host_is_writing_is_read_again_when_it_is_whole(house: House) -> None:
    path = house.begin()
    append(path, answer("m1"), answer("m2", 50)[:-30])
    house.catch_up()
    assert house.used().requests == 1
    append(path, answer("m2", 50)[-30:])
    house.catch_up()
    assert (house.used().requests, house.used().output_tokens) == (2, 55)


def test_a_last_line_without_an_end_counts(house: House) -> None:
    path = house.begin()
    append(path, answer("m1")[:-1])
    house.catch_up()
    assert house.used().requests == 1


def test_an_answer_that_grows_counts_as_it_is_then(house: House) -> None:
    path = house.begin()
    append(path, answer("m1", 1))
    house.catch_up()
    append(path, answer("m1", 50))
    house.catch_up()
    assert (house.used().requests, house.used().output_tokens) == (1, 50)


def test_a_transcript_that_a_clear_has_made_shorter_is_read_whole(house: House, taken: list[bytes]) -> None:
    path = house.begin()
    append(path, user_line("x" * 5_000), answer("m1"), answer("m2"))
    house.catch_up()
    taken.clear()
    path.write_bytes(user_line("cleared") + answer("m1") + answer("m2") + answer("m3"))
    house.catch_up()
    assert len(taken) == 4
    assert house.used().requests == 3


def test_one_that_was_changed_in_the_middle_and_is_longer_now_misses_nothing(house: House) -> None:
    path = house.begin()
    append(path, user_line("beginning"), user_line("cleared"), answer("m1"))
    house.catch_up()
    path.write_bytes(user_line("beginning") + user_line("undone " * 500) + answer("m1") + answer("m2") + user_line("end"))
    house.catch_up()
    assert house.used().requests == 2


def test_another_beginning_of_the_same_length_is_noticed(house: House) -> None:
    path = house.begin()
    append(path, answer("m1"))
    house.catch_up()
    path.write_bytes(answer("n1"))
    os.utime(path, (NOW, NOW))
    house.catch_up()
    assert house.used().requests == 2


def test_a_transcript_that_is_deleted_leaves_what_was_booked(house: House) -> None:
    path = house.begin()
    append(path, answer("m1"))
    house.catch_up()
    path.unlink()
    assert house.catch_up() == 0
    assert house.used().requests == 1
    append(path, answer("m1"), answer("m2"))
    house.catch_up()
    assert house.used().requests == 2


def test_a_session_older_than_popkit_is_found_where_the_host_keeps_it(house: House) -> None:
    session.update(str(house.home), "s2", project="/shop")  # our folder does not know its transcript
    path = Path(house.environ["CLAUDE_CONFIG_DIR"]) / "projects" / "-shop" / "s2.jsonl"
    append(path, answer("m1"))
    house.catch_up()
    assert house.used("s2").requests == 1


def test_a_session_whose_id_is_no_file_name_is_booked_under_its_id(house: House) -> None:
    id = "a session/of another kind"
    path = house.transcripts / f"{id.replace('/', '_')}.jsonl"
    append(path, answer("m1"))
    house.begin("s1", transcript=str(path))
    house.catch_up()
    assert house.used("s1").requests == 1, "its folder's name counts where the transcript has another"
    assert ingestion._id_of(home.safe_name("ä"), "/t/ä.jsonl") == "ä"


def test_a_folder_that_is_being_removed_is_no_session(house: House) -> None:
    append(house.begin(), answer("m1"))
    (house.home / "sessions" / "s1").rename(house.home / "sessions" / ".swept-s1")
    assert house.catch_up() == 0


def test_what_is_so_old_that_it_would_be_removed_is_not_booked(house: House) -> None:
    append(house.begin(), answer("m1"), answer("m2", at=NOW - (KEPT_DAYS + 1) * DAY_S))
    house.catch_up()
    assert house.used().requests == 1


def test_what_a_client_of_ours_has_booked_is_not_booked_again(house: House) -> None:
    with open_local(house.environ) as store:
        book(store, used("m1", "s1", source=CLIENT, user="dana"))
    append(house.begin(), answer("m1"), answer("m2"))
    house.catch_up()
    assert house.used().requests == 2
    with open_local(house.environ) as store:
        assert store.users() == ["alice", "dana"]


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe not json",
        b'{"type": "assistant", "usage"',
        b'["assistant", "usage"]\n',
        answer("m9", model=7),
        answer("m9", model="<synthetic>"),
        answer(""),
        answer("m9", usage="none"),
        answer("m9").replace(b"2026", b"99999"),
        answer("m9").replace(b"2026-", b"x"),
    ],
)
def test_lines_that_tell_of_no_request_disturb_nothing(house: House, line: bytes) -> None:
    append(house.begin(), line.rstrip() + b"\n", answer("m1"))
    house.catch_up()
    assert house.used().requests == 1


@pytest.mark.parametrize("usage", [{"output_tokens": 2**70}, {"output_tokens": -5}, {"output_tokens": True}, {"output_tokens": [1]}])
def test_counts_that_are_none_count_nothing(house: House, usage: dict) -> None:
    append(house.begin(), answer("m1", usage={"input_tokens": 3, **usage}))
    house.catch_up()
    assert (house.used().input_tokens, house.used().output_tokens) == (3, 0)


@pytest.mark.parametrize("transcript", ["/nowhere.jsonl", "/a\0.jsonl", "/", "", "/dev/null", "/a\ud800.jsonl"])
def test_a_session_whose_transcript_cannot_be_read_keeps_no_other_from_being_booked(house: House, transcript: str) -> None:
    house.begin("s0", transcript=transcript)
    append(house.begin("s1"), answer("m1"))
    append(house.begin("s2"), answer("m2"))
    house.catch_up()
    assert (house.used("s1").requests, house.used("s2").requests) == (1, 1)


def test_names_that_no_database_takes_are_booked_as_they_can_be(house: House) -> None:
    append(house.begin(project="/sh\0p\ud800", model="m\0"), answer("m\0\ud800"))
    house.catch_up()
    assert house.used().requests == 1


# --- all at once -------------------------------------------------------------------------------------------------------------------------


def test_processes_that_catch_up_at_once_book_everything_once(forks: Forks, house: House) -> None:
    for number in range(20):
        append(house.begin(f"s{number}"), *[answer(f"m{number}-{of}") for of in range(50)])
    all_catch_up(forks, house.environ)
    with open_local(house.environ) as store:
        assert store.of_user("alice", "").requests == 20 * 50
    assert house.catch_up() == 0


def test_much_is_booked_in_several_transactions_and_progress_is_reported(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingestion, "_ROWS", 10)
    for number in range(4):
        append(house.begin(f"s{number}"), *[answer(f"m{number}-{of}") for of in range(25)])
    progress: list[tuple[int, int]] = []
    assert ingestion.catch_up(house.environ, lambda done, whole: progress.append((done, whole))) == 100
    assert [done for done, _ in progress] == sorted(done for done, _ in progress)
    assert {whole for _, whole in progress} == {4 * 25 * len(answer("m0-10")) - 4 * 10}


def test_where_booking_fails_it_is_read_again_the_next_time(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    append(house.begin(), answer("m1"))
    with monkeypatch.context() as patch:
        patch.setattr(ingestion.Replication, "enqueue", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            house.catch_up()
    assert house.used().requests == 0
    assert house.catch_up() == 1
    assert house.used().requests == 1


def test_a_mark_is_of_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="regular"):
        incremental_reading.read_on(str(tmp_path / "pipe"), None, print)
    assert incremental_reading.mark_of(str(tmp_path / "none")) is None
