"""What stands for a cleared result: short whatever its label holds, and known again; of a large one the names that it held."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy import secret_shapes
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.outlines import (
    LEAST_CHARS,
    OUTLINE_CHARS,
    findings,
    most_tokens,
    outline,
    outline_of,
    possible_names,
    verdict_line,
)
from popkit_retention.core.policy.placeholder import _WHY, LONGEST, LONGEST_WHY, handle_in, is_handle, placeholder, why, with_outline
from tests.policy.scenario import Scenario

# --- outlines ----------------------------------------------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[2]
FILLER = "some words of plain language that say nothing at all\n" * 40
KEY_STARTS = ("sk-", "sk_live_", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "npm_", "hf_", "AKIA", "AIza", "eyJ", "whsec_", "ya29.")

NAME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@"
names = st.text(NAME_CHARS, min_size=1, max_size=40)
words = (
    names | st.text(max_size=12) | st.sampled_from(["src/auth/session.ts", "handleCheckout7", "1.24.0-beta.3", "[PopKit cleared ", "\n"])
)
texts = st.builds(
    lambda parts, times, between: between.join(parts * times),
    st.lists(words, min_size=1, max_size=20),
    st.sampled_from([1, 7, 60]),
    st.sampled_from([" ", "\n", "\t", ", ", "(", '"', ""]),
)


@pytest.mark.parametrize(
    "name", ["/etc/nginx/nginx.conf", "../shared/notes.txt", "~/.config/shop.toml", "@scope/package-name", ".github/workflows/ci.yml"]
)
def test_a_path_and_a_scope_keep_their_beginning(name: str):
    assert outline(FILLER + f"reads {name} first") == name


def test_of_a_large_text_the_names_stay_the_short_ones_first():
    text = FILLER + "calls handleCheckout7() in src/checkout/steps/payment.ts:118, needs some-package@1.24.0-beta.3"
    assert outline(text) == "handleCheckout7 some-package@1.24.0-beta.3 src/checkout/steps/payment.ts"


def test_what_does_not_fit_into_a_tenth_is_left_out_the_long_ones_first():
    named = [f"name_of_thing_{number:03}" + "_x" * (number % 9) for number in range(90)]
    short_first = sorted(named, key=lambda name: (len(name), name))
    text = " ".join(named)
    kept = outline(text).split()
    assert kept == short_first[: len(kept)]
    assert len(" ".join(kept)) <= len(text) // 10 < len(" ".join(short_first[: len(kept) + 1])) + 1


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("src/views/panel.py:12", {"src/views/panel.py"}),
        ("src/views/panel.py:12:5", {"src/views/panel.py"}),
        ("src/views/panel.py:12:  pane_head(report)", {"src/views/panel.py"}),
        ("src/views/panel.py:12:reclaimable_tokens = 1", {"src/views/panel.py", "reclaimable_tokens"}),
        ("src/views/panel.py-13-reclaimable_tokens = 1", {"src/views/panel.py", "reclaimable_tokens"}),
        ("names_of_left.py:12:reclaimable_tokens = 1", {"names_of_left.py", "reclaimable_tokens"}),
        ("names_of_left.py:12: in them", {"names_of_left.py"}),
        ("a.js:12:6", set()),
        ("db.internal.example:8080", {"db.internal.example:8080"}),
        ("http://db.example.com:8080", {"http://db.example.com:8080"}),
        ("team/some-image.x86:20/latest", {"team/some-image.x86:20/latest"}),
        ("lodash.debounce-4.0.8", {"lodash.debounce-4.0.8"}),
    ],
)
def test_the_number_of_a_line_is_in_no_name(word: str, names: set[str]):
    assert possible_names([f"see {word} there"]) == names
    for is_run in (False, True):
        assert set(findings(f"so {word}\n" * 60, is_run).names) == names


def test_words_of_plain_language_say_nothing():
    assert outline(FILLER) == ""
    assert outline("Reconciliation of responsibilities, well-understood and/or self-explanatory. " * 20) == ""


def test_a_short_text_has_none_for_it_would_hardly_be_shorter():
    named = (" src/payment_form.ts" * 50)[-LEAST_CHARS:]
    assert outline(named[1:]) == ""
    assert outline(named) == "src/payment_form.ts"


def test_each_name_is_in_it_once():
    assert outline("src/auth/session.ts src/auth/token.ts\n" * 60) == "src/auth/token.ts src/auth/session.ts"


@pytest.mark.parametrize("start", KEY_STARTS)
@pytest.mark.parametrize("before", ["", "key=", "https://x.test/?token=", "Authorization:"])
def test_a_key_is_left_out_wherever_it_is_in_the_text(start: str, before: str):
    key = start + "AB12CD34EF56GH78IJ90" * 2
    kept = outline(f"{FILLER}{before}{key}\nsrc/auth/session.ts {before}{key}")
    assert kept.endswith("src/auth/session.ts")
    assert key not in kept
    assert secret_shapes.spans(kept) == []


@pytest.mark.parametrize("start", KEY_STARTS)
@pytest.mark.parametrize("length", [180, 200, 400, 2_000])
def test_of_a_long_key_no_part_is_kept(start: str, length: int):
    random_ = random.Random(start)
    key = start + "".join(random_.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") for _ in range(length))
    kept = outline(FILLER * 10 + key + " src/auth/session.ts")
    assert kept == "src/auth/session.ts"


@given(texts)
def test_it_is_at_most_a_tenth_of_the_text(text: str):
    kept = outline(text)
    assert len(kept) <= len(text) // 10
    assert kept == "" or len(text) >= LEAST_CHARS


@given(texts)
def test_it_is_one_line_of_names_that_were_in_the_text_each_once(text: str):
    kept = outline(text)
    found = kept.split(" ") if kept else []
    assert len(set(found)) == len(found)
    assert all(name in text for name in found)
    assert set(kept) <= {*NAME_CHARS, " "}
    assert all(12 <= len(name) <= 192 for name in found)
    assert secret_shapes.spans(kept) == []


@given(texts)
def test_where_its_lines_end_makes_no_difference(text: str):
    assert outline(text.replace("\n", " ")) == outline(text)


def test_it_is_the_same_in_every_process():
    text = "".join(f"src/part{number * 7919 % 97}.test.ts handlePart{number} " for number in range(400))
    program = "import sys; from popkit_retention.core.policy.outlines import outline; print(outline(sys.stdin.read()))"
    kept = {
        subprocess.run(
            [sys.executable, "-c", program], input=text, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, text=True,
            capture_output=True, check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }  # fmt: skip
    assert kept == {outline(text) + "\n"}


@given(st.integers(0, 10**6))
def test_a_tenth_of_the_tokens_is_what_it_may_take_and_of_few_none(tokens: int):
    assert 0 <= most_tokens(tokens) <= tokens / 10
    assert (most_tokens(tokens) > 0) is (tokens >= 300)


# --- of a run --------------------------------------------------------------------------------------------------------------------------

PASSED = "".join(f"tests/test_cart.py::test_adds_item_{number:03} PASSED\n" for number in range(60))
FAILED = """=================== FAILURES ===================
    def test_total():
>       assert total(cart) == 42
E       assert 41 == 42
E        +  where 41 = total([1, 40])
tests/test_cart.py:118: AssertionError
FAILED tests/test_cart.py::test_total - assert 41 == 42
"""
ENDS = "1 failed, 60 passed in 0.31s"
JEST = """FAIL src/cart.test.ts
  ● cart › adds the tax
    expect(received).toBe(expected)
    Expected: 42
    Received: 41
"""


def ran(text: str, failed: bool, *then: str) -> tuple:
    """A run of the tests with this output after these runs came, and what stays of it."""
    session = Scenario()
    (session.bash_fails if failed else session.bash)("pytest", text)
    for line in then:
        session.bash(line)
    return session.result("T1"), outline_of(session.result("T1"), text)


def test_of_a_superseded_run_the_verdict_stays_and_no_test_that_passed():
    result, kept = ran(PASSED + FAILED + ENDS, True, "pytest")
    assert result.ended[0] == "superseded"
    assert kept == "exit 1: 1 failed 60 passed in 0.31s"


@pytest.mark.parametrize("then", [(), ("git status",)])
def test_of_a_failed_run_what_failed_stays_and_with_which_values(then: tuple):
    kept = ran(PASSED + FAILED + ENDS, True, *then)[1]
    assert kept.startswith("exit 1: 1 failed 60 passed in 0.31s -- ")
    for line in ("assert total cart == 42", "assert 41 == 42", "FAILED tests/test_cart.py::test_total"):
        assert line in kept
    assert "test_adds_item" not in kept


def test_it_is_so_whatever_the_framework_and_where_a_pipe_has_hidden_the_exit_code():
    session, text = Scenario(), "PASS src/other.test.ts\n" * 60 + JEST + "Tests: 1 failed, 60 passed"
    session.bash("npx jest | tail -200", text)
    kept = outline_of(session.result("T1"), text)
    assert kept.startswith("Tests: 1 failed 60 passed -- FAIL src/cart.test.ts -- ")
    assert "Expected: 42 -- Received: 41" in kept


def test_of_a_run_that_passed_the_verdict_stays():
    assert ran(PASSED + "60 passed in 0.30s", False)[1] == "exit 0: 60 passed in 0.30s"


def test_of_anything_else_names_stay():
    session = Scenario()
    text = FILLER + "calls handleCheckout7() in src/checkout/steps/payment.ts:118"
    session.bash("cat notes.txt", text)
    assert outline_of(session.result("T1"), text) == outline(text)


def test_no_key_of_a_failure_stays():
    key = "sk-" + "AB12CD34EF56GH78IJ90" * 2
    kept = ran(PASSED + f"Error: 401 for {key}\nError: --password hunter2secret refused\n" + ENDS, True)[1]
    assert key not in kept
    assert "hunter2secret" not in kept
    assert "401 for" in kept


@given(texts, st.booleans(), st.booleans())
def test_of_a_run_too_it_is_at_most_a_tenth_on_one_line_and_known_again(text: str, failed: bool, superseded: bool):
    result, kept = ran(text, failed, *(["pytest"] if superseded else []))
    assert kept.startswith(verdict_line(result))
    assert len(kept.removeprefix(verdict_line(result))) <= len(text) // 10 + len(" -- ")
    assert set(kept) <= OUTLINE_CHARS
    notice = placeholder("Bash pytest", "a newer one follows", "abcd2345")
    assert handle_in(with_outline(notice, kept)) == "abcd2345"


# --- placeholders ------------------------------------------------------------------------------------------------------------------------

HANDLES = st.text(alphabet="abcdefghijklmnopqrstuvwxyz234567", min_size=8, max_size=51)
REASONS = st.sampled_from(sorted({*_WHY.values(), "expired", "unused for 22 calls", "an explanation of more than 24 characters"}))
LINE_CHARS = NAME_CHARS + " ~=<>!"  # of a line of names
NOTICE = "[PopKit cleared Read a.ts (old). To see it: popkit restore abcd2345]"


def test_it_says_what_it_was_why_it_went_and_how_it_comes_back():
    notice = placeholder("Read src/auth.ts", "edited later", "abcd2345")
    assert notice == "[PopKit cleared Read src/auth.ts (edited later). To see it: popkit restore abcd2345]"


def test_a_long_label_is_cut():
    notice = placeholder("Bash " + "npm test " * 30, "a newer one follows", "abcd2345")
    assert len(notice) == LONGEST
    assert "npm te… (a newer one follows). To see it: popkit restore abcd2345]" in notice or "… (a newer" in notice
    assert placeholder("注" * 90, "old", "abcd2345") == f"[PopKit cleared {'注' * 7}… (old). To see it: popkit restore abcd2345]"


@given(st.text(max_size=300), REASONS, HANDLES.filter(lambda handle: len(handle) == 8))
def test_it_is_one_line_of_at_most_forty_tokens(label, why, handle):
    notice = placeholder(label, why, handle)
    assert len(notice) <= LONGEST
    assert estimate_tokens(notice) <= 40
    assert notice.isprintable()


@given(st.text(max_size=60) | st.lists(st.text()) | st.none() | st.integers())
def test_nothing_else_is_taken_for_one(content):
    assert handle_in(content) == ""


@pytest.mark.parametrize(
    ("word", "is_one"),
    [("abcd2345", True), ("a" * 51, True), ("a" * 52, False), ("abcd234", False), ("abcd2340", False), ("ABCD2345", False),
     ("abcd 345", False), ("abcd2345\n", False), ("abcd234é", False), ("", False)],
)  # fmt: skip
def test_a_handle_is_eight_small_letters_and_digits_or_more(word, is_one):
    assert is_handle(word) is is_one


# --- with an outline --------------------------------------------------------------------------------------------------------------


def test_an_outline_has_a_line_of_its_own_and_an_empty_one_changes_nothing():
    assert with_outline(NOTICE, "src/auth/session.ts handleCheckout7") == NOTICE + "\nsrc/auth/session.ts handleCheckout7"
    assert with_outline(NOTICE, "") == NOTICE


@given(st.text(max_size=300), REASONS, HANDLES, texts)
def test_it_is_known_again_with_the_outline_of_any_text(label, why, handle, text):
    kept = outline(text)
    outlined = with_outline(placeholder(label, why, handle), kept)
    assert handle_in(outlined) == handle
    assert outlined.count("\n") == bool(kept)


@pytest.mark.parametrize(
    "content",
    [
        "see " + NOTICE,
        NOTICE + " and more",
        "[PopKit cleared Read a.ts (old). To see it: popkit restore abcd2345; rm x]",
        "[PopKit cleared Read a.ts (old). To see it: popkit restore abc]",
        "[PopKit cleared Read a.ts (old)]",
        "[PopKit cleared " + "x" * 400 + " To see it: popkit restore abcd2345]",
        NOTICE + "\n" + NOTICE,
        NOTICE + "\nsrc/a.ts src/b.ts\n" + NOTICE,
        NOTICE + "\nsrc/a.ts\nsrc/b.ts",
        NOTICE + "\nsrc/a.ts\n",
        NOTICE + "\n",
        NOTICE + "\n\nsrc/a.ts",
        NOTICE + "\r\nsrc/a.ts",
        NOTICE + "\nsrc/a.ts, src/b.ts",
        NOTICE + "\nrm -rf $HOME",
        NOTICE + "\nsrc/é.ts",
        NOTICE + "\nsrc/a.ts\tsrc/b.ts",
        "src/a.ts\n" + NOTICE,
        "12:" + NOTICE + "\n13:" + NOTICE,
    ],
)
def test_a_quoting_text_several_placeholders_and_lines_of_no_outline_are_none(content):
    """None of these is a placeholder."""
    assert handle_in(content) == ""


@given(REASONS, HANDLES, st.text(max_size=40) | st.text(LINE_CHARS, max_size=40))
def test_only_a_line_of_names_behind_it_leaves_it_a_placeholder(why, handle, line):
    named = line != "" and set(line) <= set(LINE_CHARS)
    assert handle_in(placeholder("Read a.ts", why, handle) + "\n" + line) == (handle if named else "")


@pytest.mark.parametrize(("calls", "reason"), [(1, "unused for 1 call"), (2, "unused for 2 calls"), (999_999, "unused for 999999 calls")])
def test_for_how_long_it_was_unused_fits_into_the_notice(session: Scenario, calls, reason):
    session.read("a.py")
    assert why(session.result("T1"), calls) == reason
    assert len(reason) <= LONGEST_WHY
    assert f"({reason})" in placeholder("Read a.py", reason, "abcd2345")
