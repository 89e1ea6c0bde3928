"""The reads that stay beside the target of a compaction: of the files that are edited next."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core.policy.events import Entered
from popkit_retention.core.policy.host_compaction import FILES
from popkit_retention.core.policy.messages import ASSISTANT, USER, result_tokens
from tests.examples import examples
from tests.policy.compactable import CODE, HISTORIES, LONG, Talk, calls_in, talked
from tests.policy.conversing import NEVER, SURE

MANY = 30
BESIDE_TOKENS, BESIDE_SHARE = 10_000, 1 / 8  # what docs/design/compaction.md says


def long_talk(*steps) -> Talk:
    """Much that a tool returned, which fills the conversation; what the steps add; then calls that have to do with nothing else."""
    talk = Talk()
    for number in range(MANY):
        talk.call("mcp__a__b", {"n": number}, f"{number} {CODE * 80}")
    for step in steps:
        step(talk)
    talk.nothing(6)
    return talk


def read(name: str, text: str = LONG, *lines: int):
    """`lines`: the first and the last, none for all."""
    return lambda talk: talk.read(f"/p/src/{name}", *lines, text=f"{name} {text}")


def whole_files(talk: Talk, share: float = 0.0, model=NEVER, **how) -> list[str]:
    """The files of which a read stays whole, in order."""
    given, stays = calls_in(talk.messages), calls_in(talk.compact(share, model, **how).messages)
    paths = [given[id][0].get("file_path", "") for id in given if stays.get(id) == given[id]]
    return [path.removeprefix("/p/src/") for path in paths if path.startswith("/p/src/")]


def test_the_files_that_were_read_last_stay_whole_at_any_target():
    names = [f"{letter}.py" for letter in "abcdefgh"]
    talk = long_talk(*map(read, names))
    assert whole_files(talk) == names[-FILES:]


def test_a_file_that_has_changed_since_it_was_read_does_not_stay_for_that():
    talk = long_talk(read("a.py"), read("b.py"), lambda talk: talk.change("/p/src/a.py", "old", "new"))
    assert whole_files(talk) == ["b.py"]


def test_of_a_file_read_again_the_newest_read_stays():
    talk = long_talk(read("a.py"), read("a.py", LONG + "more"))
    assert whole_files(talk) == ["a.py"]
    stays = calls_in(talk.compact(0.0).messages)
    assert "more" in stays[f"T{MANY + 2}"][1]


def test_ranges_of_a_file_count_as_one_read():
    ranges = [read("a.py", f"line of {n}\n" * 49, 1 + 50 * n, 50 + 50 * n) for n in range(4)]
    others = [read(f"{n}.py") for n in range(FILES - 1)]
    talk = long_talk(*ranges, *others)
    assert whole_files(talk) == ["a.py"] * 4 + [f"{n}.py" for n in range(FILES - 1)]


def test_what_a_command_shows_of_a_file_counts_as_a_read():
    talk = long_talk(lambda talk: talk.bash("sed -n 1,40p /p/src/a.py", f"a {LONG}"))
    assert calls_in(talk.compact(0.0).messages)[f"T{MANY + 1}"] == calls_in(talk.messages)[f"T{MANY + 1}"]


def test_a_file_that_the_last_words_name_comes_before_newer_ones():
    def names_it(talk: Talk) -> None:
        talk.say(ASSISTANT, "Which one is it?")
        talk.say(USER, "Mend src/cart.py, please.")

    talk = long_talk(read("cart.py"), *[read(f"{n}.py") for n in range(FILES)])
    assert "cart.py" not in whole_files(talk)
    names_it(talk)
    assert whole_files(talk) == ["cart.py", *[f"{n}.py" for n in range(1, FILES)]]
    assert "cart.py" not in whole_files(
        long_talk(read("cart.py"), *[read(f"{n}.py") for n in range(FILES)], lambda t: t.say(USER, "acart.py"))
    )


def test_a_file_that_the_plan_names_comes_before_newer_ones():
    def plans(talk: Talk) -> None:
        todo = {"content": "Mend `src/cart.py`", "status": "pending", "activeForm": "Mending"}
        talk.call("TodoWrite", {"todos": [todo]}, "Todos have been modified")

    files = [read("cart.py"), *[read(f"{n}.py") for n in range(FILES)]]
    assert whole_files(long_talk(*files, plans)) == ["cart.py", *[f"{n}.py" for n in range(1, FILES)]]


def test_what_is_larger_than_their_room_leaves_and_smaller_older_ones_stay():
    talk = long_talk(read("small.py"), read("large.py", CODE * 600))
    assert whole_files(talk) == ["small.py"]


@pytest.mark.parametrize(("kept_out", "stays"), [(300, True), (50_000, False)])
def test_a_reference_counts_as_the_whole_that_it_becomes(kept_out: int, stays: bool):
    """Once what it refers to has left."""

    def refers(talk: Talk) -> None:
        talk.call("Read", {"file_path": "/p/src/b.py"}, "[PopKit: as in T1]")
        talk.observe(Entered(f"T{talk.steps}", 60, ["T1"], "wwww2345", 1_000, ["said already"], talk.at, kept_out))

    assert (long_talk(refers).compact(0.0).beside > 0) is stays


def test_what_a_clear_takes_leaves_although_it_was_read_last():
    talk = long_talk(read("a.py"), read("b.py"))
    assert whole_files(talk, also=(f"T{MANY + 1}",)) == ["b.py"]


def test_they_stand_beside_the_target_and_take_nothing_from_what_stays_else():
    talk = long_talk(read("a.py"), read("b.py"))
    done = talk.compact(0.3)
    reads = [calls_in(talk.messages)[f"T{MANY + n}"] for n in (1, 2)]
    assert done.beside == pytest.approx(sum(result_tokens(text) for _, text, _ in reads), abs=10)
    assert done.met
    assert 0.24 * done.before < done.after - done.beside <= 0.3 * done.before + 1


def test_their_tokens_are_counted_as_what_was_measured():
    talk = long_talk(read("a.py"))
    estimated = talk.compact(0.0).beside
    talk.state.calibration = 1.5
    assert talk.compact(0.0).beside == pytest.approx(1.5 * estimated, abs=1)


@settings(max_examples=examples(20, 2_000))
@given(HISTORIES, st.sampled_from([0.0, 0.2, 0.5]), st.sampled_from([1.0, 0.6, 1.7]), st.sampled_from([NEVER, SURE]))
def test_they_take_an_eighth_at_most_and_no_more_than_their_tokens(history: list, share: float, calibration: float, model):
    talk = talked(history)
    talk.state.calibration = calibration
    done = talk.compact(share, model)
    assert 0 <= done.beside <= min(BESIDE_TOKENS, BESIDE_SHARE * done.before) + 1
