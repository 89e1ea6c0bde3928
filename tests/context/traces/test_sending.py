"""What hooks leave in the outbox arrives once, and waits while nobody takes it."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from popkit_retention.context.database import usage
from popkit_retention.context.database.opening import open_database
from popkit_retention.context.sending import send

from hooks.utils.edges import files
from hooks.utils.state import outbox
from hooks.utils.state.site import Site
from tests.context.traces.receiver import Receiver, attributes, receiving
from tests.patience import HANG_S, until

NOW = 1_795_400_000
START = NOW * 10**9
NOBODY = "postgresql://me:swordfish@127.0.0.1:1/x"


class House:
    """A home of ours, a session of it, and a transcript."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environ = {"POPKIT_HOME": str(home), "LOGNAME": "alice", "POPKIT_CLOCK": str(NOW)}
        self.transcript = home.parent / "s1.jsonl"

    def configure(self, **context: object) -> None:
        self.home.mkdir(exist_ok=True)
        (self.home / "retention-config.json").write_text(json.dumps({"context": context}))

    @property
    def mail(self) -> outbox.Outbox:
        return outbox.of(Site(self.environ, "s1"))

    @property
    def used(self) -> usage.Sum:
        with open_database(self.environ) as database, database.reading() as connection:
            return usage.of_session(connection, "s1")

    def answers(self, path: Path, *ids: str, output: int = 5) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        created = {"ephemeral_1h_input_tokens": 3, "ephemeral_5m_input_tokens": 4}
        counted = {"input_tokens": 1, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 7, "cache_creation": created}
        with path.open("a") as file:
            for id in ids:
                message = {"id": id, "model": "claude-fable-5-2", "usage": {**counted, "output_tokens": output}, "content": []}
                entry = {"type": "assistant", "timestamp": "2026-11-23T01:02:03.000Z", "message": message}
                file.write(json.dumps(entry, separators=(",", ":")) + "\n")

    def lines(self, name: str = outbox.NAME) -> list[dict]:
        path = self.home / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "home")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def test_where_nothing_is_asked_for_nothing_is_left(house: House) -> None:
    house.mail.span("POPKIT_CLEAR", START, results=3)
    house.mail.tells_more(str(house.transcript), "")
    assert not (house.home / outbox.NAME).exists()
    assert send(house.environ) == {"booked": 0, "traced": 0, "left": 0, "why": []}
    assert not (house.home / "context.sqlite").exists()


@pytest.mark.parametrize(
    "asked", [{"traces": "http://127.0.0.1:1"}, {"session_tokens": 5}, {"month_usd": 1}, {"database": "postgresql://db/x"}]
)
def test_traces_limits_and_a_database_ask_for_it(house: House, asked: dict) -> None:
    house.configure(**asked)
    house.mail.span("POPKIT_CLEAR", START)
    (line,) = house.lines()
    assert (line["kind"], line["name"], line["session"]) == ("span", "POPKIT_CLEAR", "s1")
    assert stat.S_IMODE((house.home / outbox.NAME).stat().st_mode) == 0o600


def test_spans_of_hooks_arrive_as_one_trace_for_each_session(house: House, receiver: Receiver) -> None:
    house.configure(traces=receiver.endpoint)
    house.mail.span("POPKIT_CLEAR", START, results=3, tokens=900)
    house.mail.span("POPKIT_UNDO", START + 5)
    assert send(house.environ)["traced"] == 2
    clear, undo = receiver.spans
    assert (clear.name, undo.name) == ("POPKIT_CLEAR", "POPKIT_UNDO")
    assert clear.start_time_unix_nano == START < clear.end_time_unix_nano
    assert attributes(clear) == {"results": 3, "tokens": 900, "popkit.session": "s1"}
    assert clear.trace_id == undo.trace_id
    assert clear.span_id != undo.span_id
    assert not (house.home / outbox.NAME).exists()
    assert not (house.home / outbox.SENDING).exists()


def test_a_receiver_that_is_down_gets_them_later_each_with_the_same_id(house: House, receiver: Receiver) -> None:
    house.configure(traces=receiver.endpoint)
    house.mail.span("POPKIT_CLEAR", START)
    receiver.status = 400
    found = send(house.environ)
    assert (found["traced"], found["left"]) == (0, 1)
    assert "Check context.traces" in found["why"][0]
    (waits,) = house.lines(outbox.LEFT)
    house.mail.span("POPKIT_UNDO", START)
    receiver.status = 200
    assert send(house.environ)["left"] == 0
    assert send(house.environ)["left"] == 0
    assert [span.name for span in receiver.spans] == ["POPKIT_CLEAR", "POPKIT_UNDO"]
    assert waits["name"] == "POPKIT_CLEAR"


def test_usage_is_booked_while_no_receiver_takes_spans(house: House, receiver: Receiver) -> None:
    house.configure(traces=receiver.endpoint, month_usd=5)
    receiver.status = 400
    for number in range(1, 4):
        house.mail.span("POPKIT_CLEAR", START)
        house.mail.used(NOW, "claude-fable-5-2", 10, 3, 2, 1, 300)
        found = send(house.environ)
        assert (found["booked"], found["left"]) == (1, number)
        assert house.used.requests == number
    receiver.status = 200
    assert send(house.environ) == {"booked": 0, "traced": 3, "left": 0, "why": []}
    assert len(receiver.spans) == 3
    assert not (house.home / outbox.LEFT).exists()


def test_what_was_left_and_what_waits_are_sent_together(house: House) -> None:
    house.configure(month_usd=5)
    house.mail.used(NOW, "m", 10, 0, 0, 1, 300)
    assert send({**house.environ, "POPKIT_DATABASE_URL": NOBODY})["left"] == 1
    house.mail.used(NOW, "m", 10, 0, 0, 1, 300)
    assert send(house.environ) == {"booked": 2, "traced": 0, "left": 0, "why": []}


def test_what_a_sender_that_was_killed_had_in_hand_is_sent_with_the_rest(house: House) -> None:
    house.configure(month_usd=5)
    house.mail.used(NOW, "m", 10, 0, 0, 1, 300)
    (house.home / outbox.NAME).rename(house.home / outbox.SENDING)
    house.mail.used(NOW, "m", 10, 0, 0, 1, 300)
    assert send(house.environ)["booked"] == 2
    assert house.used.requests == 2
    assert not (house.home / outbox.SENDING).exists()


def test_what_is_left_is_bounded_and_spans_take_no_room_of_usage(house: House, receiver: Receiver) -> None:
    house.configure(traces=receiver.endpoint, month_usd=5)
    receiver.status = 400
    house.mail.used(NOW, "m", 10, 0, 0, 1, 300)
    house.mail.tells_more(str(house.transcript), "/shop")
    house.mail.tells_more(str(house.transcript), "/shop")
    with (house.home / outbox.NAME).open("a") as file:
        for number in range(12_000):
            line = {
                "id": f"{number}",
                "session": "s1",
                "kind": "span",
                "name": "POPKIT_DOOR",
                "start": 1,
                "end": 2,
                "attributes": {"a": "x" * 90},
            }
            file.write(json.dumps(line) + "\n")
    left = send({**house.environ, "POPKIT_DATABASE_URL": NOBODY})["left"]
    kept = house.lines(outbox.LEFT)
    assert left == len(kept) < 12_000
    assert (house.home / outbox.LEFT).stat().st_size <= outbox.MOST_BYTES
    assert [line["kind"] for line in kept if line["kind"] != "span"] == ["usage", "session"]
    assert kept[-1]["id"] == "11999", "the oldest go"


def test_what_is_old_is_removed_where_usage_is_booked(house: House) -> None:
    house.configure(month_usd=5)
    for days in (0, 401):
        house.mail.used(NOW - days * 86_400, "m", 10, 0, 0, 1, 300)
    send(house.environ)
    assert house.used.requests == 1


def test_the_outbox_stays_bounded(house: House) -> None:
    house.configure(month_usd=5)
    house.mail.span("POPKIT_CLEAR", START)
    path = house.home / outbox.NAME
    path.write_text("x" * (outbox.MOST_BYTES + 1))
    house.mail.span("POPKIT_CLEAR", START)
    assert path.stat().st_size == outbox.MOST_BYTES + 1


def test_what_a_session_used_is_read_from_its_transcripts_and_booked_once(house: House) -> None:
    house.configure(month_usd=5)
    house.answers(house.transcript, "m1", "m1", output=1)
    house.answers(house.transcript, "m1", "m2")
    house.answers(house.transcript.with_suffix("") / "subagents" / "agent-a.jsonl", "m3")
    for _ in range(2):
        house.mail.tells_more(str(house.transcript), "/shop")
        house.mail.tells_more(str(house.transcript), "/shop")
        assert send(house.environ) == {"booked": 3, "traced": 0, "left": 0, "why": []}
        assert house.used[:5] == (3, 3, 6, 21, 15)
    assert house.used.usd == pytest.approx(3 * ((1 + 2 * 0.025 + 4 * 1.25 + 3 * 2) * 8 + 5 * 40) / 1e6)
    house.answers(house.transcript, "m4")
    house.mail.tells_more(str(house.transcript), "/shop")
    send(house.environ)
    assert house.used.requests == 4


def test_requests_that_keep_the_cache_warm_are_booked_as_the_mod_tells(house: House) -> None:
    house.configure(month_usd=5)
    house.mail.used(NOW, "claude-fable-5-2", 1_000, 900, 50, 7, 300)
    assert send(house.environ)["booked"] == 1
    assert house.used[:5] == (1, 50, 900, 50, 7)
    assert house.used.usd == pytest.approx((50 + 900 * 0.025 + 50 * 1.25) * 8 / 1e6 + 7 * 40 / 1e6)


def test_what_they_write_to_a_cache_that_lives_for_an_hour_costs_what_that_costs(house: House) -> None:
    house.configure(month_usd=5)
    house.mail.used(NOW, "claude-fable-5-2", 1_000, 900, 50, 7, 3_600)
    send(house.environ)
    assert house.used.usd == pytest.approx((50 + 900 * 0.025 + 50 * 2) * 8 / 1e6 + 7 * 40 / 1e6)


def test_usage_waits_for_a_database_that_cannot_be_reached(house: House) -> None:
    house.configure(month_usd=5)
    house.mail.used(NOW, "m", 10, 0, 0, 1, 300)
    found = send({**house.environ, "POPKIT_DATABASE_URL": NOBODY})
    assert (found["booked"], found["left"]) == (0, 1)
    assert "swordfish" not in repr(found)
    assert send(house.environ)["booked"] == 1


@pytest.mark.parametrize(
    "spoilt",
    [
        {"kind": "session", "transcript": ["/a"], "project": ""},
        {"kind": "session", "transcript": "/a.jsonl", "project": {}},
        {"kind": "session", "transcript": "/a\0.jsonl", "project": ""},
        {"kind": "session", "transcript": "/a\ud800.jsonl", "project": ""},
        {"kind": "usage", "model": "m", "at": "yesterday"},
        {"kind": "usage", "model": "m", "at": 1e300},
        {"kind": "usage", "model": "m", "at": -1e12},
        {"kind": "usage", "model": "m", "at": float("inf")},
        {"kind": "usage", "model": "m", "at": float("nan")},
        {"kind": "usage", "model": "m", "at": NOW, "input": 2**70},
        {"kind": "usage", "model": "m\ud800\0", "at": NOW, "input": 1},
        {"kind": ["usage"]},
    ],
)
def test_a_spoilt_line_keeps_no_other_waiting(house: House, spoilt: dict) -> None:
    house.configure(session_tokens=5)
    house.home.mkdir(exist_ok=True)
    (house.home / outbox.NAME).write_text(json.dumps({"id": "spoilt", "session": "another", **spoilt}) + "\n")
    house.mail.used(NOW, "claude-fable-5-2", 10, 3, 2, 1, 300)
    sent = send(house.environ)
    assert (sent["left"], sent["why"]) == (0, [])
    assert house.used.requests == 1
    assert house.lines() == house.lines(outbox.SENDING) == []


def is_open(path: str) -> bool:
    """Whether this process has a file open."""
    links = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            links.append(str(descriptor.readlink()))
    return path in links


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="looks at open files as Linux shows them")
def test_who_has_waited_for_another_sender_finds_nothing_left(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.Lock.__init__, "__defaults__", (HANG_S,))
    house.configure(session_tokens=5)
    house.mail.used(NOW, "claude-fable-5-2", 10, 3, 2, 1, 300)
    waiting = house.home / outbox.NAME
    held = "import os, sys; os.lockf(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), os.F_LOCK, 0); print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", held, f"{waiting}.lock"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as another, ThreadPoolExecutor(1) as second:
        assert another.stdout
        assert another.stdin
        another.stdout.readline()
        sending = second.submit(send, house.environ)
        until(lambda: is_open(f"{waiting}.lock"), "it has seen the outbox, and waits")
        waiting.unlink()
        another.stdin.close()
        assert sending.result() == {"booked": 0, "traced": 0, "left": 0, "why": []}


def test_lines_that_are_no_lines_of_ours_disturb_nothing(house: House) -> None:
    house.configure(month_usd=5)
    house.mail.used(NOW, "m", 10, 0, 0, 1, 300)
    with (house.home / outbox.NAME).open("a") as file:
        file.write('{"id": 5}\n[]\n{"id": "a", "session": "s1", "kind": "session", "transcript": 7}\n')
        file.write('{"id": "b", "session": "s1", "kind": "session", "transcript": "/nowhere.jsonl"}\n{"id": "c", "sess')
    assert send(house.environ) == {"booked": 1, "traced": 0, "left": 0, "why": []}
