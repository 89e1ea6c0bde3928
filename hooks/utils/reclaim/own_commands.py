"""Leave our own commands, compactions included, out of a conversation, with their output: they tell the model nothing. Pure."""

from __future__ import annotations

from ..policy.messages import USER, Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Commands that were typed at the host are messages, too.
_OURS = ("<command-name>/compact</command-name>", "<command-name>/popkit</command-name>", "<command-name>/popkit:context</command-name>")
_ARGUMENTS, _OWN_ARGUMENTS = "<command-args>", ("", "popkit")
_REMINDER, _REMINDER_ENDS = "<system-reminder>", "</system-reminder>"
_CAVEAT, _STDOUT, _COMPACTED = "<local-command-caveat>", "<local-command-stdout>", "Compacted"
_CODES = 8  # characters of a terminal's codes that may come before what a command printed


def without_commands(messages: Sequence[Message]) -> list[Message]:
    """Return the messages without our own commands, earlier compactions and their output."""
    kept: list[Message] = []
    was_ours = False
    for message in messages:
        is_word = message.role == USER and not message.results
        is_ours = is_word and message.text.startswith(_OURS) and not _has_words(message.text)
        if is_ours and kept and kept[-1].role == USER and kept[-1].text.startswith(_CAVEAT):
            kept.pop()
        if not is_ours and not (is_word and (_is_printed(message.text, was_ours) or _is_typed(message.text))):
            kept.append(message)
        was_ours = is_ours
    return kept


def _has_words(text: str) -> bool:
    """Return whether a command that compacts says how: these are words of the person's."""
    return text.startswith(_OURS[0]) and text.partition(_ARGUMENTS)[2].partition("<")[0].strip() not in _OWN_ARGUMENTS


def _is_typed(text: str) -> bool:
    """Return whether a text is the command as it was typed that has this conversation compacted, or an earlier one."""
    command, *words = text.removeprefix(_REMINDER).removesuffix(_REMINDER_ENDS).split() or [""]
    return command == "/compact" and " ".join(words) in _OWN_ARGUMENTS


def _is_printed(text: str, by_ours: bool) -> bool:
    """Return whether a text is what a command of ours, or a compaction, printed."""
    return text.startswith(_STDOUT) and (by_ours or _COMPACTED in text[: len(_STDOUT) + _CODES + len(_COMPACTED)])
