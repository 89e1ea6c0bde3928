"""Masking takes no more work than a text is long, whatever it holds."""

from __future__ import annotations

import re

import pytest

from popkit_retention.core.policy import masking
from popkit_retention.core.policy.masking import mask, named, words
from tests.policy.test_masking import PIECES
from tests.work import steps

try:
    from re import _constants, _parser
except ImportError:  # before Python 3.11
    import sre_constants as _constants
    import sre_parse as _parser


HOSTILE = [
    *PIECES, "token-", "-u a", "://a", "mysql -p", "token='", "\\", 'token=\\"', "curl -b -pass x ", "-----BEGIN PRIVATE KEY", '-p"x"',
    "a@", "vault kv put ", "<<< ", "echo x|", "echo x|vault ", "Q~", ":AA", "-us1", "a1B2-", "aB1cD2eF3gH4iJ5kL6_", "'authorization: x",
    "key=", "identified by ", "password '", "ghp_", "SG.aB1cD2eF3g.", "-u a:b", "environ['KEY'] = '", 'setenv("KEY","', "invalid token ",
    "connect('a',",
    "expect assword send \"", "pgpass a:b:c:d:e ", "curl user = \"a:b", "SG.aaaaaaaaaaaaaaaa.", "createuser a ", "mysqladmin ",
    "x create-user a ", "x user add ", "x login a ", "x <(echo a) ", "sops --set '[\"a\"] ", "x users:create[a,",
]  # fmt: skip


def _steps(piece: str, length: int) -> int:
    """Lines that run while a text of so many characters is masked, once its patterns are compiled."""
    text = (piece * (length // len(piece) + 1))[:length] + " token=x"
    mask(text)
    return steps(mask, text)


def test_work_grows_no_faster_than_the_text(count):
    length, dear = count(1_000, 4_000), {}
    for piece in HOSTILE:
        few, many = (_steps(piece, much) for much in (length, 2 * length))
        if many > 2.3 * few + length // 2:
            dear[piece] = few, many
    assert dear == {}


def _repeats(parsed, is_last: bool):
    """(most, whether nothing may fail behind it) of every repetition of a pattern."""
    for place, (op, value) in enumerate(parsed):
        last = is_last and place == len(parsed) - 1
        if op in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            yield value[1], last
            yield from _repeats(value[2], is_last=False)
        elif op is _constants.SUBPATTERN:
            yield from _repeats(value[-1], last)
        elif op is _constants.BRANCH:
            for branch in value[1]:
                yield from _repeats(branch, last)
        elif op in (_constants.ASSERT, _constants.ASSERT_NOT):
            yield from _repeats(value[1], is_last=False)


@pytest.mark.parametrize("pattern", [form for _, form in named._FORMS] + [named._NAMED])
def test_every_repetition_of_a_pattern_has_a_bound_or_ends_it(pattern: str):
    assert re.compile(pattern)
    for most, last in _repeats(_parser.parse(pattern), is_last=True):
        assert most is not _constants.MAXREPEAT or last
        assert most is _constants.MAXREPEAT or most <= 512


def test_no_command_is_looked_at_further_than_its_bound():
    assert words.AHEAD <= 40


def test_so_many_texts_are_remembered_and_no_long_one():
    masking._known.clear()
    for number in range(masking._MOST_KNOWN):
        mask(f"text {number}")
    mask("x" * masking._KNOWN_CHARS)
    assert len(masking._known) == masking._MOST_KNOWN
    mask("text 1")
    assert len(masking._known) == masking._MOST_KNOWN
    mask("another text")
    assert masking._known == {("another text", False): "another text"}
    mask("x" * (masking._KNOWN_CHARS - 1))
    assert len(masking._known) == 2
