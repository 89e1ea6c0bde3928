"""What a compaction lost: in no row is anything that still stands, and each row leads to the text that it is about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy import losses
from popkit_retention.core.policy.losses import ADDED, CALLED, ERROR, RESULT, SAID, TASKS, WROTE, Loss, Losses, Passage, Standing

NAMES = [f"module_{word}.price_of_{word}" for word in ("apple", "bread", "cider", "dates", "elder", "figs")]
SENTENCES = ["Never touch the generated folder.", "Listen on port 8443.", "Use pnpm, not npm.", "The tests live in spec/unit."]
LINES = [f"export function {name.partition('.')[2]}(item) {{ return round(item) }}" for name in NAMES]

words = st.lists(st.sampled_from([*NAMES, *LINES]), min_size=1, max_size=5).map("\n".join)
said = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4).map(" ".join)


@st.composite
def passages(draw: st.DrawFn) -> list[Passage]:
    made = []
    for place in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from([SAID, WROTE, CALLED, RESULT, ADDED]))
        subject = draw(st.sampled_from(["/shop/a.js", "/shop/b.js"])) if kind in (CALLED, RESULT) else ""
        text = draw(said if kind == SAID else words)
        failed = kind == RESULT and draw(st.booleans())
        made.append(Passage(kind, text, place, place // 2, subject, subject, f"t{place}", failed, bool(subject)))
    return made


def ranked(before: list[Passage], *after: str, most: int = 20) -> Losses:
    return losses.ranked(before, Standing(after), most)


def read(path: str, text: str, place: int = 1, request: int = 0, **more: bool) -> Passage:
    return Passage(RESULT, text, place, request, path, path, f"t{place}", file=True, **more)


def labels(rows: list[Loss]) -> list[str]:
    return [row.label for row in rows]


@given(passages(), st.lists(st.one_of(words, said), max_size=4))
def test_nothing_that_still_stands_is_listed(before: list[Passage], after: list[str]) -> None:
    standing = Standing(after)
    for row in ranked(before, *after).rows:
        assert not any(standing.holds_words(word) for word in row.words)


@given(passages(), st.lists(words, max_size=2))
def test_each_row_leads_to_texts_that_have_all_it_says(before: list[Passage], after: list[str]) -> None:
    for row in ranked(before, *after).rows:
        assert row.ways
        assert all(way in before for way in row.ways)
        texts = " ".join(" ".join(way.text for way in row.ways).split())
        assert all(" ".join(word.split()) in texts for word in row.words)


@given(passages(), st.lists(words, max_size=2))
def test_no_row_counts_more_than_is_lost_in_all(before: list[Passage], after: list[str]) -> None:
    found = ranked(before, *after)
    assert sum(row.kind == ERROR for row in found.rows) <= found.errors
    for row in found.rows:
        if row.kind != ERROR:  # which counts the lines that tell of it
            assert row.count <= (found.sentences if row.kind == SAID else found.names + found.lines)


@given(passages())
def test_what_is_kept_whole_loses_nothing(before: list[Passage]) -> None:
    found = ranked(before, *(passage.text for passage in before))
    assert (found.rows, found.sentences, found.errors, found.names, found.lines) == ([], 0, 0, 0, 0)


@given(passages())
def test_kept_words_of_the_persons_are_never_listed(before: list[Passage]) -> None:
    found = ranked(before, *(passage.text for passage in before if passage.kind == SAID))
    assert found.sentences == 0
    assert not [row for row in found.rows if row.kind == SAID]


@given(passages(), st.integers(0, 8))
def test_a_shorter_list_is_the_beginning_of_a_longer_one(before: list[Passage], most: int) -> None:
    shorter, longer = ranked(before, most=most).rows, ranked(before, most=100).rows
    assert [(row.label, row.words) for row in shorter] == [(row.label, row.words) for row in longer[:most]]


@given(passages())
def test_the_same_conversation_gives_the_same_list(before: list[Passage]) -> None:
    assert [row.words for row in ranked(before).rows] == [row.words for row in ranked(list(before)).rows]


def test_a_sentence_with_other_blanks_between_its_words_still_stands() -> None:
    found = ranked([Passage(SAID, "Listen on port 8443.\nUse pnpm, not npm.", 1, 0)], "He said: listen well. Listen on\n   port 8443.")
    assert [row.words for row in found.rows] == [["Use pnpm, not npm."]]


def test_a_sentence_with_a_number_or_a_path_of_its_own_comes_first() -> None:
    message = "Please go on with this. Listen on port 8443. I like the colours."
    assert ranked([Passage(SAID, message, 1, 0)], "A summary.").rows[0].words[0] == "Listen on port 8443."


def test_a_word_alone_is_no_sentence() -> None:
    assert ranked([Passage(SAID, "continue", 1, 0)], "A summary.").rows == []


def test_an_error_is_open_until_the_same_thing_succeeds() -> None:
    failed = Passage(RESULT, "FAIL src/price.test.ts\nexpected 3, got 4", 1, 0, "npm test", "Bash npm test", "t1", failed=True)
    passed = Passage(RESULT, "all of the tests have passed", 3, 1, "cd /shop && npm test -- --silent", "Bash npm test", "t2")
    other = Passage(RESULT, "nothing to report of this one", 3, 1, "npm run lint", "Bash npm run lint", "t2")
    assert ranked([failed, other]).errors == 1
    assert ranked([failed, passed]).errors == 0
    row = ranked([failed, other]).rows[0]
    assert (row.kind, row.label, row.words) == (ERROR, "Bash npm test", ["FAIL src/price.test.ts", "expected 3, got 4"])


def test_of_a_run_that_failed_again_and_again_only_the_newest_error_is_open() -> None:
    runs = [
        Passage(RESULT, f"FAIL number {place} of all", place, place, "npm test", "Bash npm test", f"t{place}", True) for place in (1, 2, 3)
    ]
    assert [way.place for row in ranked(runs).rows if row.kind == ERROR for way in row.ways] == [3]


def test_an_error_that_the_summary_tells_of_is_not_lost() -> None:
    failed = Passage(RESULT, "FAIL src/price.test.ts", 1, 0, "npm test", "Bash npm test", "t1", failed=True)
    assert ranked([failed], "Open: FAIL src/price.test.ts").errors == 0


def test_a_row_is_about_one_file_with_the_calls_on_it() -> None:
    before = [read("/shop/a.js", f"{NAMES[0]} {NAMES[1]}", 1), read("/shop/b.js", NAMES[2], 2), read("/shop/a.js", NAMES[3], 3)]
    rows = {row.label: sorted(way.place for way in row.ways) for row in ranked(before).rows}
    assert rows == {"/shop/a.js": [1, 3], "/shop/b.js": [2]}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (read("/shop/new.js", NAMES[0], 2, 40), read("/shop/old.js", NAMES[1], 1, 0)),
        (read("/shop/named.js", NAMES[0], 1, 40), read("/shop/other.js", NAMES[1], 2, 40)),
        (Passage(CALLED, NAMES[0], 1, 40, "/shop/made.js", "made", "t1", file=True), read("/shop/seen.js", NAMES[1], 2, 40)),
        (read("/shop/short.js", NAMES[0], 1, 40), read("/shop/long.js", NAMES[1] + " and so on" * 400, 2, 40)),
        (Passage(SAID, "Never touch the generated folder.", 1, 0), read("/shop/seen.js", "\n".join(NAMES), 2, 40)),
    ],
    ids=["newer", "its file is named in what stands", "in a call", "found faster", "the person's words"],
)  # fmt: skip
def test_what_is_more_likely_to_be_needed_comes_first(first: Passage, second: Passage) -> None:
    for before in ([first, second], [second, first]):
        before.sort(key=lambda passage: passage.request)
        before.append(Passage(WROTE, "done", 9, 40))
        rows = ranked(before, "Go on with named.js.").rows
        assert rows[0].ways == [first]


def test_what_an_earlier_row_leads_to_counts_no_more() -> None:
    both, one, other = read("/a.js", f"{NAMES[0]} {NAMES[1]}", 1), read("/b.js", NAMES[0], 2), read("/c.js", NAMES[2], 3)
    assert labels(ranked([both, one, other]).rows) == ["/a.js", "/c.js"]


def test_the_list_of_tasks_is_a_row_of_its_own() -> None:
    tasks = Passage(CALLED, f"write {NAMES[0]}", 1, 0, "TodoWrite", "TodoWrite", "t1", is_tasks=True)
    assert [row.kind for row in ranked([tasks]).rows] == [TASKS]


def test_a_private_key_gives_no_names() -> None:
    assert losses.strings_of("-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq\n") == set()


def test_a_line_is_the_same_with_and_without_the_number_of_its_reader() -> None:
    line = "return round(item.price * 3, 2)  # in cents"
    assert {losses.without_number(f"   12→{line}"), losses.without_number(f"12\t{line}"), losses.without_number(line)} == {line}


# --- what is listed of a conversation, and what a text is made of ------------------------------------------------------------------

GOLDENS = Path(__file__).with_name("goldens")
NAME_OF_12, NAME_OF_192 = "shop_prices1", "shop/" + "p" * 185 + ".j"
TEXTS = [
    "", NAME_OF_12, NAME_OF_12[:-1], NAME_OF_192, NAME_OF_192 + "s", "a line of twenty ch.", "a line of twenty c.",
    "  a line of twenty ch.  ",
    " a line of twenty c.", "oneword_of_twenty_characters", "a " + "l" * 398, "a " + "l" * 399, "12→a line of twenty ch.",
    "12\ta line of twenty ch.",
    " 12 →a line of twenty ch.", "x→a line of twenty ch.", "12\tx→a line of twenty ch.", "→a line of twenty ch.", "12→ a line of twenty c.",
    "a line of twenty ch.\na line of twenty ch.\nanother line of many characters", "-----BEGIN A\na line of twenty ch.",
    "a/b.c:12: a line of it",
    "1→shop_prices1", "shop_prices1 and shop_prices2", "Say it. And again! Is it? Yes; no. 3", "Say it.  And\tagain",
    "one\ntwo words\n8443\n/srv\na_b\n`c`\n",
    "e.g. this", "Say 。it is。so", "Two words. Two words. two words.", "word. Two words", "Ends with a dot. ", "x1. y2! z3", "Really?",
    "Really? 3", " . . ",
    "FAIL a\nexpected 3\nall well\nand so on", "Exit code 1\nnothing\nlast line\n\n", "\n", "one line", "FAIL " + "x" * 400, "x" * 401,
    "\n".join(f"FAIL {at}" for at in range(30)), "  FAIL a  ",
]  # fmt: skip
LINES_OF_RUNS = [
    "npm test", "npm test -- a", "cd a && npm test", "cd a; npm test -- b", "sudo npm test", "sudo npm test; npm test",
    "timeout 3 npm test && ls", "cd a",
    "", "  ls  ", "ls; npm test", "cds a", "npm",
]  # fmt: skip


def test_a_text_is_made_of_the_strings_that_the_golden_shows(golden) -> None:
    rows = []
    for text in TEXTS:
        rows += [f"$ {text!r}", f"  strings {sorted(losses.strings_of(text))}", f"  sentences {losses.sentences_of(text)}"]
        rows.append(f"  tells of a failure {losses.failure_lines(text)}")
    rows += [f"{line!r} runs {losses._run(line)!r}" for line in LINES_OF_RUNS]
    golden(GOLDENS / "strings.txt", "".join(f"{row}\n" for row in rows))


def conversation() -> Iterator[Passage]:
    """Of all kinds, some of one subject, some that failed, with names that several of them show."""
    said = [
        "Please build the shop. It must listen on port 8443. Never touch the generated folder.\nUse the list in src/prices_of_all.json.",
        "continue", "Now do the second part, with `pnpm`. The first was good; go on with it.",
        "Stop that. I like the colours of src/colours_of_all.css.",
    ]  # fmt: skip
    for at, text in enumerate(said):
        yield Passage(SAID, text, at, at * 4, label=f"message {at}")
    for at in range(6):
        path = f"/shop/src/part_{at % 3}.py"
        text = "\n".join([f"def price_of_{word}_{at % 4}(basket, order):" for word in ("apple", "bread", "cider")][: 1 + at % 3])
        yield Passage(CALLED, f"{path} {text if at % 2 else ''}", 10 + at, 2 * at, path, f"call {at}", f"c{at}", file=True)
        yield Passage(
            RESULT, f"{text}\n    return total_of_order_{at}(basket)  # in cents", 20 + at, 2 * at, path, f"read {at}", f"c{at}", file=True
        )
    for at, (line, text, failed) in enumerate([
        ("npm test", "FAIL src/part_1.test.py\nexpected 3, got 4 of them\nand so it ended_with_this_name", True),
        ("npm run lint", "2 problems in src/part_2_lint.py\nand no other line of it", True),
        ("cd /shop && npm test -- part", "all of the tests_of_the_shop have passed", False),
        ("npm run build", "error: no such module_of_the_shop", True),
        ("npm run build", "error: no such module_of_the_shop_either", True),
        ("", "error: it has no subject_of_its_own", True),
    ]):  # fmt: skip
        yield Passage(RESULT, text, 30 + at, 8 + at, line, f"Bash {line}", f"r{at}", failed)
    tasks = "write price_of_apple_1, then price_of_melon_7 for the shop\nand read all_of_the_other_files"
    yield Passage(CALLED, tasks, 40, 12, "tasks", "TodoWrite", "t1", is_tasks=True)
    yield Passage(RESULT, "the tasks_have_been_noted down for later", 41, 12, "tasks", "TodoWrite", "t1", is_tasks=True)
    yield Passage(WROTE, "I have written price_of_apple_1 and price_of_dates_9. The rest of it comes later on.", 50, 13, label="answer")
    yield Passage(ADDED, "a note_of_the_host with a line that is long enough", 51, 13, label="note")
    yield Passage(WROTE, "ghp_a1B2c3D4e5F6g7H8 is random_looking but this_name_is_not", 52, 14, label="odd answer")
    yield Passage(WROTE, "a line that has no names in it at all\nand one more of the same kind here", 53, 14, label="plain answer")
    yield Passage(
        RESULT,
        "\n".join(f"name_of_number_{at:03} stands in this line" for at in range(60)),
        60,
        15,
        "/shop/long.txt",
        "long",
        "l",
        file=True,
    )
    yield Passage(ADDED, "", 61, 15, label="nothing")


STANDING = [
    [], ["Go on with part_1.py and price_of_bread_1."], ["def price_of_apple_0(basket, order):", "It must listen on port\n8443."],
    ["FAIL src/part_1.test.py", "2 problems in src/part_2_lint.py and no other line of it", "go on with it."],
    [passage.text for passage in conversation() if passage.kind in (SAID, CALLED)],
]  # fmt: skip


def test_what_a_conversation_has_lost_is_listed_as_the_golden_shows(golden) -> None:
    rows = []
    for texts in STANDING:
        for most in (0, 3, 100):
            found = ranked(list(conversation()), *texts, most=most)
            rows.append(
                f"# {texts[:2]}, {most}: {found.sentences} sentences, {found.errors} errors, {found.names} names, {found.lines} lines"
            )
            for row in found.rows:
                rows += [f"{row.kind} {row.label}: {row.count}, {[way.place for way in row.ways]}", *(f"  {word}" for word in row.words)]
    golden(GOLDENS / "lost.txt", "".join(f"{row}\n" for row in rows))


def test_nothing_is_lost_of_nothing() -> None:
    found = ranked([])
    assert (found.rows, found.sentences, found.errors, found.names, found.lines) == ([], 0, 0, 0, 0)


def test_the_texts_that_stand_are_asked_each_for_itself() -> None:
    standing = Standing(["a name_of_twelve", "more of\n it"])
    assert standing.holds("name_of_twelve")
    assert standing.holds("name_of_twel")
    assert not standing.holds("name_of_twelvemore")
    assert standing.holds_words("name_of_twelve more of it")
    assert standing.names == {"name_of_twelve"}


@pytest.mark.parametrize(
    ("failed", "passed", "is_open"),
    [
        ("npm test", "cd /shop && npm test -- part", False),
        ("npm run lint", "npm run build", True),
        ("npm run lint", "npm run lint -- --fix", False),
        ("python -m mypy src", "python -m pytest", True),
        ("uv run ruff check", "uv run pytest -q", True),
        ("cargo test", "cargo build", True),
    ],
)
def test_an_error_is_open_until_the_same_thing_has_run_without(failed: str, passed: str, is_open: bool):
    runs = [Passage(RESULT, "an output", at, at, line, f"Bash {line}", f"t{at}", failed=not at) for at, line in enumerate((failed, passed))]
    assert losses.open_errors(runs) == ({0} if is_open else set())
