"""What contents hold never moves a cursor: not on a terminal, and not in a pipe, which may end on one. Who wants it exactly says so."""

from __future__ import annotations

import json

import pytest

from popkit_retention.core import flag_parser
from popkit_retention.core.operations import CONTEXT
from tests.reclaim.shops import SESSION, Shop, Talk, code

BAD = "\x1b[31mred\x1b]0;title\x07\x9b2J\x7f\x00 \u202e back"
ESCAPED = r"\x1b[31mred\x1b]0;title\x07\x9b2J\x7f\x00" + " \u202e back"


@pytest.fixture
def handle(shop: Shop) -> str:
    """The handle of a cleared Read whose file held escapes."""
    path = f"{shop.project}/bad{BAD.replace(chr(0), '')}.ts"
    talk = Talk(str(shop.project))
    talk.read("toolu_bad", path, f"{code(60)}{BAD}\ttab\r\nend\n")
    talk.edit("toolu_edit", path)
    talk.read("toolu_again", path, f"{code(61)}{BAD}\n")
    talk.idle(60)
    shop.write(talk)
    shop.clear()
    return shop.cleared()["toolu_bad"]


def _controls(text: str) -> set[str]:
    return {char for char in text if ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0} - set("\t\n\r")


def test_nothing_that_prints_contents_puts_a_control_character_into_a_pipe(shop: Shop, handle: str):
    asked = [
        ("restore", handle),
        ("restore", "show", handle),
        ("restore", "list"),
        ("restore", "search", "red"),
        ("uninstall", "--dry-run"),
    ]
    asked += [
        ("context", *words, "--session", SESSION) for words in (["retention", "--details"], ["timeline"], ["why", "1"], ["restore", handle])
    ]
    asked += [("retention", "explain", handle), ("retention", "apply", "--all")]
    asked += [(*words, "--json") for words in asked]
    asked += [(*words, str(shop.transcript)) for words in (["try"], ["lab", "replay"], ["lab", "survey"])]
    for words in asked:
        done = shop.popkit(*words)
        assert done.out, words
        assert _controls(done.out + done.err) == set(), words


def test_no_word_of_memory_puts_one_into_a_pipe(shop: Shop):
    command = BAD.replace("\x00", "")
    assert shop.popkit("memory", "on").code == 0
    [added] = json.loads(shop.popkit("memory", "add", "--json", f"Always run {command} before a commit.").out)["items"]
    assert shop.popkit("memory", "admin", "promote", added["id"]).code == 0
    words = [
        ["list"],
        ["search", "always"],
        ["show"],
        ["why", added["id"]],
        ["file"],
        ["export"],
        ["forget", added["id"]],
        ["list", "--marked"],
    ]
    for word in words:
        done = shop.popkit("memory", *word)
        assert done.out + done.err, word
        assert _controls(done.out + done.err) == set(), word


def test_a_restored_content_is_the_same_but_for_escapes_and_raw_all_the_same(shop: Shop, handle: str):
    shown, raw = shop.popkit("restore", handle).out, shop.popkit("restore", handle, "--raw").out
    assert ESCAPED in shown
    assert BAD in raw
    assert raw.replace(BAD, ESCAPED) == shown
    content = shop.archived(handle)
    assert content in raw
    assert shop.popkit("restore", "show", handle, "--raw").out == content + "\n"


def test_raw_is_a_flag_of_the_shell_alone(shop: Shop, handle: str):
    assert flag_parser.parse(["restore", handle, "--raw"], CONTEXT).flags == {"raw": True}
    with pytest.raises(flag_parser.UsageError):
        flag_parser.parse(["restore", handle, "--raw"], CONTEXT, shell=False)
