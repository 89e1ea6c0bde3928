"""The words and flags of /popkit:context: what is understood, and what an error says."""

from __future__ import annotations

from pathlib import Path

import pytest

from popkit_retention.core.flag_parser import UsageError, parse
from popkit_retention.core.operations import CONTEXT
from popkit_retention.core.operations.context_words import split

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("line", "word", "arguments", "flags"),
    [
        ("", "retention", [], {}),
        ("--details", "retention", [], {"details": True}),
        ("--aggressive", "retention", [], {"aggressive": True}),
        ("retention --profile conservative --json", "retention", [], {"profile": "conservative", "json": True}),
        ("retention --profile=spec", "retention", [], {"profile": "spec"}),
        ("--last 5 timeline --all", "timeline", [], {"last": 5, "all": True}),
        ("timeline", "timeline", [], {"last": 40}),
        ("why", "why", [], {}),
        ("why T12", "why", ["T12"], {}),
        ("why --json 12", "why", ["12"], {"json": True}),
        ("pin 'my file.ts' T3", "pin", ["my file.ts", "T3"], {}),
        ("pin -- --odd-name", "pin", ["--odd-name"], {}),
        ('pin "half open', "pin", ['"half', "open"], {}),
        ("clear --tier SHORT", "clear", [], {"tier": "short"}),
        ("auto ON", "auto", ["on"], {}),
        ("help", "help", [], {}),
        ("help why", "help", ["why"], {}),
        ("--help", "help", [], {}),
        ("-h", "help", [], {}),
        ("clear -h", "help", ["clear"], {}),
        ("memory", "memory", [], {}),
        ("memory on", "memory", ["on"], {}),
        ("memory admin search 'two words' --most 3 --json", "memory", ["admin", "search", "two words", "--most", "3", "--json"], {}),
        ("memory list --tier HOT -h", "memory", ["list", "--tier", "HOT", "--help"], {}),
    ],
)
def test_a_line_is_read(line, word, arguments, flags):
    parsed = parse(split(line), CONTEXT, shell=False)
    assert (parsed.word, parsed.arguments, parsed.flags) == (word, arguments, flags)


KNOWN = ", ".join(operation.name for operation in CONTEXT.operations)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("retenton", '"retenton" (did you mean retention?). Known: ' + KNOWN),
        ("retention --detials", 'unknown flag "--detials" (did you mean --details?). retention knows --aggressive'),
        ("timeline --tier short", "--tier belongs to clear, not to timeline"),
        ("stats --session x", "--session works only in a shell"),
        ("restore T1 --raw", "--raw works only in a shell (popkit context …)"),
        ("pin", "pin needs ID|PATH"),
        ("why T1 T2", 'why takes only [ID], so "T2" is too much'),
        ("stats now", 'stats takes no arguments, so "now" is too much'),
        ("clear --tier", "--tier needs a value: --tier T"),
        ("stats --json=yes", "--json takes no value"),
        ("timeline --all --bogus=1", 'unknown flag "--bogus"'),
        ("timeline --last many", '--last takes a whole number from 1 to 999,999,999, not "many"'),
        ("timeline --last 0", '--last takes a whole number from 1 to 999,999,999, not "0"'),
        ("clear --tier shot", '--tier takes ephemeral, short, medium, session or preserved, not "shot" (did you mean short?)'),
        ("restore --since soon", '--since takes a time such as 2h, 3d, 2026-02-21 or 2026-02-21T16:15, not "soon"'),
        ("auto up", 'auto takes on, off or show, not "up"'),
        ("cold up", 'auto takes on, off or show, not "up"'),
    ],
)
def test_a_mistake_is_answered_with_what_is_known(line, message):
    with pytest.raises(UsageError) as error:
        parse(split(line), CONTEXT, shell=False)
    assert message in str(error.value)


def test_a_shell_may_name_the_session_before_or_after_the_word():
    for line in ("--session abc why T1", "why --session abc T1", "why T1 --session=abc"):
        parsed = parse(line.split(), CONTEXT)
        assert (parsed.word, parsed.arguments, parsed.flags) == ("why", ["T1"], {"session": "abc"})


def test_the_command_file_runs_nothing():
    """A `!` before a backtick would run in a shell, with the user's words in it."""
    written = (ROOT / "commands" / "context.md").read_text(encoding="utf-8")
    head, _, body = written[4:].partition("\n---\n")
    assert "disable-model-invocation: true" in head
    assert "allowed-tools" not in head
    assert "!`" not in body
