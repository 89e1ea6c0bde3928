"""What a compaction lost: in no row is anything that still stands, and each row leads to the text that it is about."""

from __future__ import annotations

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
