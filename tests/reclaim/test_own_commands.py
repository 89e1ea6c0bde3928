"""Rows of our own commands and of compactions say nothing to the model, and go; what else was typed stays."""

from __future__ import annotations

import pytest

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy.messages import ASSISTANT, USER, Message, ShownResult, Use
from popkit_retention.core.reclaim.own_commands import without_commands

CAVEAT = "<local-command-caveat>The command below was run directly in Claude Code.</local-command-caveat>"
COMPACT = "<command-name>/compact</command-name>\n            <command-message>compact</command-message>"
POPKIT = "<command-name>/popkit</command-name>\n            <command-message>popkit</command-message>\n<command-args>clear</command-args>"
COMPACTED = "<local-command-stdout>Compacted </local-command-stdout>"
DIM = "<local-command-stdout>\x1b[2mCompacted (ctrl+o to see full summary)\x1b[22m</local-command-stdout>"
PRINTED = "<local-command-stdout>94 results left</local-command-stdout>"
TYPED = "<system-reminder>\n/compact popkit\n</system-reminder>"
MODEL = "<command-name>/model</command-name>\n            <command-message>model</command-message>"
SET = "<local-command-stdout>Set model to opus</local-command-stdout>"


def kept(*texts: str) -> list[str]:
    return [message.text for message in without_commands([Message(USER, text) for text in texts])]


@pytest.mark.parametrize(
    "ours",
    [
        [CAVEAT, COMPACT, COMPACTED], [COMPACT, COMPACTED], [CAVEAT, COMPACT, DIM], [COMPACTED], [DIM], [CAVEAT, POPKIT, PRINTED],
        [POPKIT, PRINTED], [CAVEAT, POPKIT], [CAVEAT, COMPACT, COMPACTED, CAVEAT, POPKIT, PRINTED], [TYPED], [TYPED, CAVEAT, COMPACT, DIM],
        ["/compact"], ["/compact popkit"],
    ],
)  # fmt: skip
def test_commands_of_ours_and_compactions_leave_no_rows(ours: list[str]):
    assert kept("go", *ours, "on") == ["go", "on"]
    assert kept(*ours * 3) == []


@pytest.mark.parametrize(
    "theirs",
    [
        ["<command-name>/compact</command-name>\n<command-args>keep auth; never touch secret.cfg</command-args>"],
        ["<command-name>/popkit-review:start</command-name>\n<command-args>fix the login</command-args>"],
        [CAVEAT, MODEL, SET], [CAVEAT], [SET], ["Compacted"], ["why does " + COMPACT + " stand here?"], ["run /popkit clear"],
        ["<command-message>popkit:context</command-message>\n<command-name>/popkit:context</command-name>", "Show the context."],
        [TYPED.replace("popkit", "keep the plan")], ["/compact keep the plan"], ["/compact is slow"],
        # As long as a reminder that ends, or begins.
        ["<system-reminder>/compact and keep the plan"], ["and then say: go /compact</system-reminder>"],
        ["<local-command-stdout>42 files were read, then Compacted</local-command-stdout>"],
    ],
)  # fmt: skip
def test_everything_else_that_was_typed_and_printed_stays(theirs: list[str]):
    assert kept("go", *theirs, "on") == ["go", *theirs, "on"]


def test_a_caveat_of_another_command_stays_with_it():
    assert kept(CAVEAT, MODEL, SET, CAVEAT, COMPACT, COMPACTED) == [CAVEAT, MODEL, SET]
    assert kept(CAVEAT, MODEL, SET, COMPACT, COMPACTED) == [CAVEAT, MODEL, SET]


def test_what_the_assistant_says_and_results_stand_whatever_they_quote():
    messages = [
        Message(ASSISTANT, COMPACT), Message(ASSISTANT, COMPACTED), Message(ASSISTANT, "", [Use("t1", TOOLS.of("Bash"), {})]),
        Message(USER, COMPACT, (), [ShownResult("t1", COMPACTED)]), Message(ASSISTANT, CAVEAT), Message(USER, COMPACT),
    ]  # fmt: skip
    assert without_commands(messages) == messages[:-1]


@pytest.mark.parametrize(
    ("before", "stays"), [("", False), ("\x1b[2m", False), ("\x1b[38;51m", False), ("It's all ", True), ("Nothing was ", True)]
)
def test_a_compaction_is_told_by_its_word_behind_the_codes_of_a_terminal(before: str, stays: bool):
    printed = f"<local-command-stdout>{before}Compacted</local-command-stdout>"
    assert kept("go", printed) == (["go", printed] if stays else ["go"])
