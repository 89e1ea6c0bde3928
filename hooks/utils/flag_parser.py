"""The words and flags of a command, as one table: the parser, the help, the errors and the documentation come from it. Here is that of
/popkit:context; `popkit memory` has one of its own."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Flag:
    """One flag. `value` names what follows it, "" for a flag that stands alone; `cli` marks those of the shell command only."""

    __slots__ = ("cli", "help", "name", "value")

    def __init__(self, name: str, help: str, value: str = "", cli: bool = False):
        self.name = name
        self.help = help
        self.value = value
        self.cli = cli

    def usage(self) -> str:
        return self.name + (" " + self.value if self.value else "")


class Word:
    """One subcommand. `takes` names its arguments, "" for none, `example` is one; `least` and `most` are how many it takes. `hands_on`:
    what follows it is another command's to understand, flags too."""

    __slots__ = ("example", "flags", "hands_on", "help", "least", "most", "name", "takes")

    def __init__(self, name: str, help: str, flags: tuple = (), takes: str = "", least: int = 0, most: int = 0, example: str = "T12"):
        self.example = example
        self.hands_on = False
        self.name = name
        self.help = help
        self.flags = flags
        self.takes = takes
        self.least = least
        self.most = most

    def usage(self) -> str:
        return self.name + (" " + self.takes if self.takes else "")


class Handed(Word):
    """A subcommand whose words are another command's."""

    __slots__ = ()

    def __init__(self, name: str, help: str, takes: str):
        super().__init__(name, help, takes=takes)
        self.hands_on = True


class Table:
    """The words of one command: what it is (`title`), which of them is meant where none is given, which flags follow every word but help
    in a shell (`site`, with what holds without them), what the names of arguments mean (`notes`)."""

    __slots__ = ("by_name", "default", "notes", "site", "title", "without_site", "words")

    def __init__(self, title: str, words: tuple, default: str, site: tuple, without_site: str, notes: dict):
        self.title = title
        self.words = words
        self.by_name = {word.name: word for word in words}
        self.default = default
        self.site = site
        self.without_site = without_site
        self.notes = notes


class Parsed:
    """A line as understood: `word` (the name of one in the table), `arguments`, `flags` (name without dashes -> True or its value)."""

    __slots__ = ("arguments", "flags", "word")

    def __init__(self, word: str, arguments: list, flags: dict):
        self.word = word
        self.arguments = arguments
        self.flags = flags


class UsageError(Exception):
    """Something that the user wrote is not known; the message says what is."""


_JSON = Flag("--json", "the answer as JSON")
_DETAILS = Flag("--details", "also list every result, file and subagent")
_ALL = Flag("--all", "leave nothing out of a long list")
_SITE = (
    Flag("--session", "ask about this session (its id, or how it begins)", "ID", cli=True),
    Flag("--transcript", "ask about this transcript file", "FILE", cli=True),
)
_HELP = Flag("--help", "help for this word")
HELP_WORD = Word("help", "this text, or help for one word", (), "[WORD]", 0, 1)

WORDS = (
    Word(
        "retention",
        "what the context holds, by tier, and what to do now",
        (
            Flag("--aggressive", "halve the lifetimes for this session"),
            Flag("--conservative", "double the lifetimes for this session"),
            Flag("--profile", "auto, spec, aggressive or conservative for this session; default to go back", "NAME"),
            _DETAILS,
            _ALL,
            _JSON,
        ),
    ),
    Word(
        "timeline",
        "a bar for each call: how long its result lived",
        (Flag("--last", "only the newest N calls (default 40)", "N"), _ALL, _JSON),
    ),
    Word(
        "why",
        "why a result has its tier, what ends it, whether a clear takes it; without ID, what left the context and why",
        (Flag("--all", "also each result of earlier compactions and clears"), _JSON),
        "[ID]",
        0,
        1,
    ),
    Word("pin", "keep a result, or everything of a path: it never expires", (_JSON,), "ID|PATH…", 1, 50),
    Word("unpin", "let go of what you pinned", (_JSON,), "ID|PATH…", 1, 50),
    Word(
        "stats",
        "what PopKit was worth: lately and since installed, in tokens and money",
        (Flag("--details", "also by tier and by cause, and each context"), _JSON),
    ),
    Word(
        "clear",
        "remove what is no longer needed from the context, when that pays",
        (
            Flag("--tier", "clear this tier, even its live results", "T"),
            Flag("--id", "clear these results, even live ones: T12, or T12,T15", "ID"),
            Flag("--now", "also clear expired results that are held back, even if it does not pay yet"),
            Flag("--dry-run", "only show what would go and whether it pays"),
            _ALL,
            _JSON,
        ),
        "[PATH]",
        0,
        1,
    ),
    Word("undo", "take back the last clear", (_JSON,)),
    Word(
        "restore",
        "show what was cleared, or put it back",
        (
            Flag("--since", "everything that was cleared since: 2h, 3d, or 2026-02-21", "TIME"),
            Flag("--in-place", "put it back into the transcript and keep it for a while"),
            Flag("--raw", "byte for byte, control characters too: for a file or a program", cli=True),
            _JSON,
        ),
        "ID|HANDLE|PATH…",
        0,
        50,
    ),
    Word(
        "warm",
        "keep the prompt cache warm while you are away, where that pays",
        (Flag("--yes", "switch it on even where your own sessions would have lost money by it"), _JSON),
        "[on|off|show]",
        0,
        1,
    ),
    Word(
        "cold",
        "let dead results leave by themselves once the prompt cache is cold, where that pays",
        (_JSON,),
        "[on|off|show]",
        0,
        1,
    ),
    Handed("memory", "what sessions of this project teach the next ones: on, off, or a word of popkit memory", "[on|off|WORD…]"),
    HELP_WORD,
)
CONTEXT = Table(
    "PopKit: lifetimes for tool results",
    WORDS,
    "retention",
    _SITE,
    "Without --session or --transcript, it is the newest session of this folder's project.",
    {
        "ID": "ID is T12 or 12, as the panel and the timeline show it, or a tool_use id, or a unique part of one."
        " PATH may contain * and **.",
        "HANDLE": "HANDLE stands in the placeholder of a cleared result.",
    },
)


def word_named(name: str, table: Table = CONTEXT) -> Word:
    """The subcommand of a name; UsageError listing the known ones."""
    word = table.by_name.get(name)
    if word is None:
        raise UsageError(f"unknown word {_quoted(name)}{_nearest(name, table.by_name)}. Known: {', '.join(table.by_name)}")
    return word


def flags_of(word: Word, cli: bool, table: Table = CONTEXT) -> dict:
    """name -> Flag of everything that may follow a word."""
    flags = tuple(flag for flag in word.flags if cli or not flag.cli)
    flags += table.site if cli and word.name != "help" and not word.hands_on else ()
    return {flag.name: flag for flag in (*flags, _HELP)}


def parse(words: list, cli: bool = False, table: Table = CONTEXT) -> Parsed:
    """Reads a line's words; UsageError for what is not known. No word at all means the table's default."""
    words = ["--help" if word == "-h" else word for word in words]
    name, rest = _leading(words, table)
    word = word_named(name, table)
    if word.hands_on:
        return Parsed(word.name, rest, {})
    known = flags_of(word, cli, table)
    arguments: list = []
    flags: dict = {}
    at = 0
    while at < len(rest):
        item = rest[at]
        at += 1
        if item == "--":
            arguments.extend(rest[at:])
            break
        if not item.startswith("-") or item == "-":
            arguments.append(item)
            continue
        given, equals, value = item.partition("=")
        flag = known.get(given)
        if flag is None:
            raise _unknown_flag(given, word, known, cli, table)
        if flag.value and not equals:
            if at == len(rest):
                raise UsageError(f"{flag.name} needs a value: {flag.usage()}")
            value = rest[at]
            at += 1
        elif equals and not flag.value:
            raise UsageError(f"{flag.name} takes no value")
        flags[given[2:]] = value if flag.value else True
    if "help" in flags:
        return Parsed("help", [word.name], {})
    _check_arguments(word, arguments)
    return Parsed(word.name, arguments, flags)


def _leading(words: list, table: Table) -> tuple:
    """(subcommand, everything else): its name is the first word, flags of the site may stand before it."""
    before: list = []
    at = 0
    while at < len(words) and words[at].startswith("-"):
        before.append(words[at])
        takes = any(words[at] == flag.name for word in table.words for flag in (*word.flags, *table.site) if flag.value)
        at += 1
        if takes and at < len(words):
            before.append(words[at])
            at += 1
    if at == len(words):
        return ("help", []) if words == ["--help"] else (table.default, before)
    return words[at], before + words[at + 1 :]


def _check_arguments(word: Word, arguments: list) -> None:
    if len(arguments) < word.least:
        raise UsageError(f"{word.name} needs {word.takes}, for example: {word.name} {word.example}")
    if len(arguments) > word.most:
        extra = " ".join(map(_quoted, arguments[word.most :]))
        said = f"takes only {word.takes}" if word.most else "takes no arguments"
        raise UsageError(f"{word.name} {said}, so {extra} is too much")


def _unknown_flag(given: str, word: Word, known: dict, cli: bool, table: Table) -> UsageError:
    if not cli and any(given == flag.name for flag in table.site):
        return UsageError(f"{given} works only in a shell (popkit context …). Here the session is this one")
    at_home = [other.name for other in table.words if other is not word and any(flag.name == given for flag in other.flags)]
    if at_home:
        return UsageError(f"{given} belongs to {' and '.join(at_home)}, not to {word.name}. {_known(word, known)}")
    return UsageError(f"unknown flag {_quoted(given)}{_nearest(given, known)}. {_known(word, known)}")


def _known(word: Word, known: dict) -> str:
    return f"{word.name} knows {', '.join(flag.usage() for flag in known.values())}"


def _nearest(given: str, names: Iterable[str]) -> str:
    import difflib  # only for an error

    found = difflib.get_close_matches(given[:60], list(names), 1)
    return f" (did you mean {found[0]}?)" if found else ""


def _quoted(text: str) -> str:
    return '"' + (text if len(text) <= 40 else text[:39] + "…") + '"'
