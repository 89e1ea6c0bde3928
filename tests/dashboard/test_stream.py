"""The stream of changes, over a real server: one watch for all pages, and no page that harms another."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.dashboard import stream
from popkit_retention.dashboard.shapes import Event
from popkit_retention.dashboard.stream import WAITING, Streams
from tests.dashboard.board import Board
from tests.dashboard.served import Page, Served
from tests.patience import HANG_S, until
from tests.reclaim.shops import SESSION, spoke, worked

PAGES = 50


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path)
    yield served
    served.close()


def _goes_on(served: Served) -> None:
    talk = worked(str(served.shop.project))
    talk.bash("more", "mkdir -p more")
    written = served.shop.transcript.with_suffix(".new")  # one change, not two
    talk.write(written)
    spoke(written, served.shop.at - 1)
    written.replace(served.shop.transcript)


def test_a_page_is_greeted_and_told_of_what_changes(served: Served) -> None:
    served.worked()
    page = Page(served)
    (hello,) = page.events("hello")
    assert hello["started_at"] == served.desk.started_at
    until(lambda: served.application.streams.is_watching, "the first look")
    _goes_on(served)
    event = page.events("sessions")[-1]
    assert [row["id"] for row in event["sessions"]] == [SESSION]
    page.close()
    until(lambda: len(served.application.streams) == 0, "the page to be missed")


def test_what_changes_between_a_pages_first_question_and_its_stream_is_told(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "RECENT_S", HANG_S)
    served.worked()
    streams = served.application.streams
    streams._linger_s = HANG_S
    served.raw(served.request("/api/sessions", "GET", "Connection: close"), goes_on=True)
    until(lambda: streams.is_watching, "the first look")
    _goes_on(served)
    seen = streams.polls
    until(lambda: streams.polls > seen + 1, "the change to be seen")
    page = Page(served)
    told = page.events("sessions")
    assert told[0]["type"] == "hello"
    assert [row["id"] for row in told[-1]["sessions"]] == [SESSION]


def test_the_watch_ends_a_while_after_the_last_page_has_left(board: Board) -> None:
    async def look() -> None:
        streams = Streams(board.desk, linger_s=0.0)
        client = streams.join()
        while not streams.is_watching:
            await asyncio.sleep(0.01)
        assert streams.is_watching, "a page listens"
        streams.leave(client)
        while streams.is_watching:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(look(), HANG_S))


def test_one_change_reaches_fifty_pages_by_one_watch(served: Served) -> None:
    served.worked()
    pages = [Page(served) for _ in range(PAGES)]
    for page in pages:
        page.events("hello")
    until(lambda: served.application.streams.is_watching, "the first look")
    _goes_on(served)
    told = [page.events("sessions")[-1]["sessions"][0] for page in pages]
    assert {row["stamp"] for row in told} == {served.desk.session(SESSION).stamp}
    # That of the test before may still be ending.
    until(lambda: [thread.name for thread in threading.enumerate()].count("popkit-watcher") == 1, "one watch")
    answer = served.raw(served.request("/api/sessions", "GET", "Connection: close"), goes_on=True)
    assert answer.startswith(b"HTTP/1.1 200"), "others are answered meanwhile"
    for page in pages:
        page.close()
    until(lambda: len(served.application.streams) == 0, "the pages to be missed")


def test_a_page_that_reads_nothing_is_let_go_and_harms_no_other(served: Served) -> None:
    served.worked()
    asleep, awake = Page(served, buffer=2_048), Page(served)
    awake.events("hello")
    until(lambda: len(served.application.streams) == 2, "both pages")
    big = Event(type="stats", at=0.0, stamp="x" * 200_000)
    for _ in range(WAITING + 30):
        assert served.loop is not None
        served.loop.call_soon_threadsafe(served.application.streams.spread, big)
        awake.events("stats")
    until(lambda: len(served.application.streams) == 1, "the sleeping page to be let go")
    assert asleep.ends()
    awake.close()


def test_streams_end_with_the_server(served: Served) -> None:
    pages = [Page(served) for _ in range(5)]
    for page in pages:
        page.events("hello")
    served.end()
    assert not served.thread.is_alive()
    assert all(page.ends() for page in pages)


def test_what_waits_for_a_page_is_bounded(board: Board) -> None:
    async def flood() -> tuple[int, bool]:
        streams = Streams(board.desk)
        client = streams.join()
        for number in range(1_000):
            streams.spread(Event(type="stats", at=0.0, stamp=str(number)))
        waiting = client.waiting
        streams.end()
        return waiting, client.over.is_set()

    assert asyncio.run(flood()) == (0, True), "nothing waits: it was let go"


def test_what_is_told_again_to_a_page_that_joins_is_bounded(board: Board) -> None:
    async def flood() -> tuple[int, bool]:
        streams = Streams(board.desk)
        streams.begin()
        for number in range(1_000):
            streams.spread(Event(type="stats", at=0.0, stamp=str(number)))
        client = streams.join()
        found = client.waiting, client.over.is_set()
        streams.end()
        return found

    assert asyncio.run(flood()) == (WAITING - 1, False)
