"""The words and flags of `popkit memory`, as one table: the parser, the help and the errors come from it. Pure."""

from __future__ import annotations

from hooks.utils.flag_parser import HELP_WORD, Flag, Table, Word
from hooks.utils.operations.memory import CALLED_AS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

COMMAND = "popkit memory"
FOUND = 10  # items that a search shows
LISTED = 50
_MOST = 10_000  # arguments: what a shell can give
_ID = "m3fa"  # the beginning of an id

_TIER = Flag("--tier", "only this tier: hot, warm, cold or archive; several with commas", "T")
_KIND = Flag("--kind", "only this kind: path, name, command, error, note; several with commas", "K")

WORDS = (
    Word("status", "what is remembered about this project: tiers, sizes, last run, alerts"),
    Word(
        "list",
        "what is remembered, most valuable first",
        (
            _TIER,
            _KIND,
            Flag("--marked", "only what is forgotten, but not deleted yet"),
            Flag("--waiting", "only what an agent added and you have not accepted"),
            Flag("--all", f"everything, not only the first {LISTED}"),
        ),
    ),
    Word(
        "search",
        "what answers best; what it shows counts as asked for",
        (Flag("--most", f"show at most N (default: {FOUND})", "N"),),
        "WORDS",
        1,
        _MOST,
        "how to run the tests",
    ),
    Word("show", "one item with its text", (), "ID", 1, 1, _ID),
    Word("why", "an item's signals, score and tier, and what comes next and when", (), "ID", 1, 1, _ID),
    Word(
        "add",
        "remember this; - reads it from standard input",
        (
            Flag("--kind", "what it is: note (the default), path, name, command, error, or a word of your own", "K"),
            Flag("--key", "it is a key decision: keep it for good"),
        ),
        "TEXT",
        1,
        _MOST,
        '"run the tests with make check"',
    ),
    Word(
        "accept",
        "let MEMORY.md tell what an agent added; forget says no to it",
        (Flag("--all", "everything that waits for your yes"),),
        "[ID…]",
        0,
        _MOST,
        _ID,
    ),
    Word("pin", "keep items in their tier, whatever they are worth", (), "ID…", 1, _MOST, _ID),
    Word("unpin", "let them rise and fall again by what they are worth", (), "ID…", 1, _MOST, _ID),
    Word("promote", "move items one tier up", (), "ID…", 1, _MOST, _ID),
    Word("demote", "move items one tier down", (), "ID…", 1, _MOST, _ID),
    Word("restore", "bring back the full text of compressed items", (), "ID…", 1, _MOST, _ID),
    Word(
        "forget",
        "delete items after 24 h; until then, undo brings them back",
        (Flag("--all", "everything that is remembered about this project"),),
        "[ID…]",
        0,
        _MOST,
        _ID,
    ),
    Word("undo", "bring back forgotten items: these, or all that were forgotten last", (), "[ID…]", 0, _MOST, _ID),
    Word(
        "learn",
        "learn from sessions, oldest first: those you name, or this project's newest",
        (
            Flag("--past", "learn from all past sessions of this project"),
            Flag("--if-on", "learn from one transcript if memory is on, then update MEMORY.md and do what run does (for hooks)"),
            Flag("--quiet", "print nothing and always exit 0; failures go to the hooks' log"),
        ),
        "[SESSION|FILE…]",
        0,
        _MOST,
    ),
    Word(
        "run",
        "score, move, compress and delete what is due; hooks do this at most once an hour",
        (Flag("--force", "even if it ran less than an hour ago"),),
    ),
    Word(
        "file",
        "print MEMORY.md as a new session would get it",
        (
            Flag("--tokens", "give it at most N tokens (default: memory.tokens in the configuration)", "N"),
            Flag("--for", "choose what helps with this prompt, not only in general", "PROMPT"),
            Flag("--why", "say what was left out and why, instead"),
        ),
    ),
    Word("loss", "how much compression loses, measured on what is remembered"),
    Word(
        "export",
        "this project's items as JSON lines, to a file or to standard output",
        (Flag("--all", "the items of all projects"),),
        "[FILE]",
        0,
        1,
    ),
    Word(
        "import",
        "import what was exported, all or nothing; - reads standard input",
        (Flag("--missing", "skip items that are there already; without it, they stop the import"),),
        "FILE|-",
        1,
        1,
        "memory.jsonl",
    ),
    Word("verify", "check that the store is intact"),
    Word("on", "learn from this project's sessions, and give new ones a MEMORY.md"),
    Word("off", "stop both; what is remembered stays"),
    Word(
        "join",
        "let this folder, another checkout of a project, use the project's memory",
        (Flag("--no", "keep it apart instead: it may have a memory of its own"),),
    ),
    HELP_WORD,
)

TABLE = Table(
    "PopKit memory: what sessions teach survives them",
    WORDS,
    "status",
    (
        Flag("--project", "the project that this folder belongs to", "FOLDER", cli=True),
        Flag("--json", "the answer as JSON"),
    ),
    "Without --project, it is the project of the current folder.",
    {"ID": f"ID is an item's id, or its beginning if no other id begins so, such as {_ID}. list and search show ids."},
)


def called(environ: Mapping[str, str]) -> str:
    """How the reader calls us: what an answer tells to type next begins with it."""
    return environ.get(CALLED_AS) or COMMAND
