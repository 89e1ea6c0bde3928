"""Lines of ours, and what only looks like them: it is marked as it enters."""

from __future__ import annotations

from popkit_retention.core.policy import own_lines

NOTICE = "[PopKit left out 3 of 40 lines; to see all: popkit restore abcdefgh]"


def test_a_line_of_ours_is_found_with_what_it_stands_for() -> None:
    [found] = own_lines.found_in(f"a\n{NOTICE}\nb")
    assert (found.line, found.what, found.handle, found.of_result) == (NOTICE, "3 of 40 lines", "abcdefgh", True)


def test_a_line_of_ours_is_found_behind_a_command_that_asked_for_another() -> None:
    [found] = own_lines.found_in(f"popkit restore hgfedcba\n{NOTICE}")
    assert found.line == NOTICE


def test_of_a_gap_the_number_of_lines_is_said() -> None:
    [found] = own_lines.found_in("a\n[… 12 lines]\nb")
    assert (found.what, found.handle) == ("12 lines", "")


def test_a_text_with_lines_of_all_kinds_has_each_marked() -> None:
    lines = [NOTICE, "[2 lines as in your Read of a", "[2 lines as in the input of your Write of a"]
    assert own_lines.marked("\n".join(lines)) == ("\n".join(own_lines.MARK + line for line in lines), 3)


def test_a_line_behind_our_mark_is_not_ours() -> None:
    assert list(own_lines.found_in(own_lines.MARK + NOTICE)) == []


def test_of_a_text_only_the_lines_that_are_marked_are_given_as_such() -> None:
    marked = own_lines.MARK + NOTICE
    assert list(own_lines.marked_in(f"a\n{marked}\n{NOTICE}\n{own_lines.MARK}nothing of ours\n")) == [marked]
    assert list(own_lines.marked_in(f"a\n{NOTICE}\n")) == []
