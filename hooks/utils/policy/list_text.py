"""The text of a list, which replaces whole calls. Pure.

What it replaces has been archived as the messages that the calls and their results were in.
"""

from __future__ import annotations

from .messages import USER, Message
from .placeholder import is_handle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


HEAD, MIDDLE, TAIL = "[PopKit left out ", ": popkit restore ", "]"
BETWEEN_LABELS, IN_THEM = "; ", "in them: "
TIMES = " times)"
_LABEL_CHARS = 90


def folded(labels: Sequence[str], handle: str, names: Sequence[str] = (), unnamed: int = 0) -> Message:
    """Return the text that replaces whole calls of these labels and their results, and so many that it does not name; `names`: names from
    them that it lists."""
    times: dict[str, int] = {}
    for label in map(in_list, labels):
        times[label] = times.get(label, 0) + 1
    phrases = [label if count == 1 else f"{label} ({count} times)" for label, count in times.items()]
    if unnamed:
        phrases.append(f"and {unnamed} more" if phrases else "1 call" if unnamed == 1 else f"{unnamed} calls")
    phrases += [IN_THEM + " ".join(names)] if names else []
    return Message(USER, HEAD + BETWEEN_LABELS.join(phrases) + MIDDLE + handle + TAIL)


def in_list(label: str) -> str:
    """Return a label as a list has it: what is between two labels is in none of them."""
    return _in_a_line(label)[:_LABEL_CHARS].replace("[", "(").replace("]", ")").replace(BETWEEN_LABELS, ";")


def _in_a_line(label: str) -> str:
    if not label.isprintable():
        label = "".join([char if char.isprintable() else " " for char in label])
    return " ".join(label.split())


def handle_of_fold(text: str) -> str:
    """Return the handle in a message that replaces whole calls; "" for any other text."""
    if not text.startswith(HEAD) or not text.endswith(TAIL):
        return ""
    handle = text[: -len(TAIL)].rpartition(MIDDLE)[2]
    return handle if is_handle(handle) else ""


def handle_of_list(message: Message) -> str:
    """Return the handle that a message names if all of it replaces whole calls, else ""."""
    return handle_of_fold(message.text) if message.role == USER and not (message.uses or message.results) else ""


def read(text: str) -> tuple[list[tuple[str, int]], int, list[str]]:
    """Return what the text of a list says: (label, times) of its calls, how many it only counts, and names from them."""
    phrases = text[len(HEAD) :].rpartition(MIDDLE)[0].split(BETWEEN_LABELS)
    names = phrases.pop()[len(IN_THEM) :].split() if phrases[-1].startswith(IN_THEM) else []
    labels: list[tuple[str, int]] = []
    unnamed = 0
    for phrase in filter(None, phrases):
        number = _counted(phrase)
        if number:
            unnamed += number
        else:
            labels.append(_without_times(phrase))
    return labels, unnamed, names


def _counted(phrase: str) -> int:
    """Return how many calls a phrase counts that names none, `and 3 more` or `3 calls`; 0 for any other."""
    words = phrase.split(" ")
    is_count = (words[0], words[2:]) == ("and", ["more"]) or words[1:] in (["call"], ["calls"])
    return _number(words[-2]) if is_count else 0


def _without_times(phrase: str) -> tuple[str, int]:
    label, _, times = phrase.removesuffix(TIMES).rpartition(" (") if phrase.endswith(TIMES) else ("", "", "")
    return (label, _number(times)) if _number(times) else (phrase, 1)


def _number(word: str) -> int:
    return int(word) if word.isascii() and word.isdecimal() and len(word) < 10 else 0
