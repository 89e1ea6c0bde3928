"""A transcript that is not understood is refused, with the reason."""

from __future__ import annotations

import pytest

from popkit_retention.core.hosts import KEEPS
from popkit_retention.core.hosts.transcripts.transcript import Index
from popkit_retention.core.reclaim.access import ClearRefused, check_understood, until_whole


def index() -> Index:
    return Index((0, 0))


def refusal(found: Index, *ids: str) -> str:
    with pytest.raises(ClearRefused) as refused:
        check_understood(found, ids)
    return str(refused.value)


def test_what_is_understood_passes() -> None:
    found = index()
    found.doubled = {"a", "b"}
    check_understood(found)
    check_understood(found, ["c"])


def test_the_first_doubt_is_named() -> None:
    found = index()
    for doubt in ("byte 9: odd", "byte 99: odder"):
        found.doubt(doubt)
    assert refusal(found) == "the transcript is not understood, so nothing was changed: byte 9: odd"


def test_what_the_host_keeps_is_no_misunderstanding() -> None:
    found = index()
    found.doubt(f"Claude {KEEPS}")
    assert refusal(found) == f"nothing was changed: Claude {KEEPS}"


def test_a_recording_of_another_host_is_never_changed() -> None:
    found = index()
    found.translated = "Codex"
    found.doubt("byte 9: odd")
    assert refusal(found) == "this is a recording of Codex, which PopKit reads and never changes"


def test_of_results_that_are_there_twice_the_first_that_is_asked_for_is_named() -> None:
    found = index()
    found.doubled = {"a", "b", "c"}
    assert refusal(found, "z", "c", "b").endswith("it holds several results of b")


@pytest.mark.parametrize("torn", [0, 1, 3])
def test_a_line_that_is_being_written_is_waited_for(torn: int) -> None:
    reads = [torn > at for at in range(torn + 5)]
    seen = iter(reads)

    def read() -> Index:
        found = index()
        found.torn = next(seen)
        return found

    assert until_whole(read, lambda found: found).torn is False
    assert len([*seen]) == len(reads) - torn - 1, "and no longer than needed"


def test_a_line_that_stays_incomplete_is_given_up_on() -> None:
    found = index()
    found.torn = True
    reads: list[Index] = []
    assert until_whole(lambda: (reads.append(found), found)[1], lambda one: one) is found
    assert 1 < len(reads) < 20
