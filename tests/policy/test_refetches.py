"""What comes again although the context had it before: cleared since, or not whole."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from popkit_retention.core.policy.refetches import Refetches
from tests.policy.scenario import Scenario

TEXT = "\n".join(f"line {number} of the file" for number in range(1, 10))
Play = Callable[[Scenario], object]


def read(session: Scenario) -> None:
    session.read("/p/a.py", text=TEXT)


def run(session: Scenario) -> None:
    session.bash("npm test", "3 passed")


def booked(
    plays: tuple[Play, ...], cleared: dict[str, float] | None = None, left_out: dict[str, int] | None = None, compacted: bool = False
) -> list[tuple[float, int, float]]:
    """(second, tokens, second of what had it) of each, of calls one second apart; `cleared`: when."""
    session, refetches = Scenario(), Refetches()
    begin = session.at
    for number, play in enumerate(plays, 1):
        play(session)
        refetches.take(session.result(f"T{number}"), (left_out or {}).get(f"T{number}", 0))
        if compacted:
            refetches.compacted()
    times = {id: begin + at for id, at in (cleared or {}).items()}
    found = refetches.bookings({*times, "T9"}, times, 2.0)
    return [(one.at - begin, one.tokens, one.since - begin) for one in found]


TOKENS = Scenario()
read(TOKENS)
SIZE = TOKENS.result("T1").tokens


@pytest.mark.parametrize(
    ("plays", "cleared", "expected"),
    [
        ((read, read), {"T1": 1.5}, [(2.0, 2 * SIZE, 1.0)]),
        ((read, read, read), {"T1": 1.5, "T2": 2.5}, [(3.0, 2 * SIZE, 2.0)]),
        ((read, read, read), {"T1": 2.0}, [(3.0, 2 * SIZE, 1.0)]),
        ((read, read), {"T1": 2.5}, []),
        ((read, read), {}, []),
        ((read, read), {"T1": 1.5, "T2": 2.5}, []),
        ((run, run), {"T1": 1.5}, []),
        ((lambda session: session.read_fails("/p/a.py"),) * 2, {"T1": 1.5}, []),
        ((lambda session: session.edit("/p/a.py"),) * 2, {"T1": 1.5}, []),
        ((lambda session: session.grep("x", text=TEXT), lambda session: session.grep("y", text=TEXT)), {"T1": 1.5}, "one"),
    ],
)
def test_what_was_cleared_and_is_shown_again_is_fetched_again_once(plays, cleared, expected) -> None:
    found = booked(plays, cleared)
    assert len(found) == 1 if expected == "one" else found == expected


@pytest.mark.parametrize(
    ("plays", "left_out", "compacted", "expected"),
    [
        ((read, read), {"T1": 3}, False, [(2.0, 6, 1.0)]),
        ((read, read), {"T1": 10_000}, False, [(2.0, 2 * SIZE, 1.0)]),
        ((read, read, read), {"T1": 3, "T2": 5}, False, [(3.0, 10, 2.0)]),
        ((read, read, read), {"T1": 3}, False, [(2.0, 6, 1.0)]),
        ((read, read), {"T1": 3}, True, []),
        ((run, run), {"T1": 3}, False, []),
        ((read, lambda session: session.edit("/p/a.py"), lambda session: session.read("/p/a.py", 2, 3)), {"T1": 3}, False, []),
        ((read, lambda session: session.grep("x"), lambda session: session.read("/p/a.py", 2, 3)), {"T1": 3}, False, "one"),
        ((read, lambda session: session.read("/p/b.py")), {"T1": 3}, False, []),
        ((read, lambda session: session.bash("cat b.py", "else")), {"T1": 3}, False, []),
    ],
)
def test_what_entered_in_part_and_is_shown_again_is_fetched_again(plays, left_out, compacted, expected) -> None:
    found = booked(plays, None, left_out, compacted)
    assert len(found) == 1 if expected == "one" else found == expected
