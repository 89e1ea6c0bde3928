"""The command line, which imports the module of a command only when that is called."""

from __future__ import annotations

import importlib
import os
import sys

from hooks.utils import text
from hooks.utils.flag_parser import nearest
from hooks.utils.io import home
from hooks.utils.version import VERSION

from . import answering
from .answering import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Command -> the module and the function that does it, loaded when it is called: function(parsed, environ) -> Answer | exit code. The module
# may have MISTAKES: errors that are shown in a line, beside Refused. All commands but those in _PARSE_THEMSELVES have their table parsed.
COMMANDS = {
    "context": "context_command.run",
    "restore": "context_command.restore",
    "memory": "memory_command.run",
    "retention": "retention_command.run",
    "try": "try_command.run",
    "lab": "lab_command.run",
    "bill": "spending_command.bill",
    "budget": "spending_command.budget",
    "config": "config_command.run",
    "doctor": "doctor_command.run",
    "dashboard": "program_commands.dashboard",
    "setup": "setup_command.run",
    "statusline": "statusline_command.run",
    "mcp": "program_commands.mcp",
    "serve": "program_commands.serve",
    "completion": "program_commands.completion",
    "uninstall": "uninstall_command.run",
}
# The commands that a person needs most, with which help begins -> what they do. Words of `popkit context` are commands, too.
FIRST = {
    "context": "what the context holds, and what to do about it",
    "clear": "remove what is no longer needed, when that pays off",
    "undo": "take back the last clear",
    "restore": "bring back what left the context; search the archive",
    "why": "why a result stays, or why it left",
    "auto": "let PopKit clear by itself once the prompt cache is cold",
    "bill": "what you pay, what the cache lost, your plan's limits",
    "try": "what PopKit would say about your newest session",
}
# What a command was called in the version before -> its words.
RENAMED = {"archive": "restore", "limits": "bill limits", "misses": "bill misses", "replay": "lab replay"}
_PARSE_THEMSELVES = ("context", "restore", "memory", "retention")  # function(words, environ) -> exit code
_COLUMN = 14  # of the left column of the overview
_COMMIT, _COMMIT_CHARS = frozenset("0123456789abcdef"), 12  # how Claude Code names a copy


def main(argv: list[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Run one command; return the exit code: 0, or 1 for what the user got wrong."""
    argv = sys.argv[1:] if argv is None else argv
    if sys.stdout is None:  # started with it closed: the next file that is opened would take its place
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        code = _run(argv, environ)
        sys.stdout.flush()
    except home.NoHome as error:
        print(f"popkit: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        _write_no_more()  # the reader of the pipe has closed it (`| head`)
        return 0
    except OSError as error:
        from . import answering

        print(f"popkit: {text.clean(answering.message_of(error))}", file=sys.stderr)
        _write_no_more()
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _write_no_more() -> None:
    """Discard output that is still buffered: writing it at the interpreter's end would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(argv: list[str], environ: Mapping[str, str]) -> int:
    name, rest = (argv[0], argv[1:]) if argv else ("help", [])
    if name in ("help", "-h", "--help"):
        if not rest or rest in (["--json"], ["--all"]):
            return answering.show(Answer(overview(rest == ["--all"]), titles()), rest == ["--json"], environ)
        name, rest = rest[0], [*rest[1:], "--help"]
        if name.startswith("-"):
            return _not_known(
                f'"{text.cut(text.clean(name), 40)}" is not a command. popkit help takes the name of one, --all or --json', environ
            )
    if name in ("--version", "-V", "version"):
        print("popkit " + version())
        return 0
    if name in RENAMED:
        answering.say_renamed(f"popkit {name}", f"popkit {RENAMED[name]}", environ)
        rest = _out_of_replay(rest) if name == "replay" else rest
        name, *words = RENAMED[name].split()
        rest = [*words, *rest]
    if name in words_of_context():
        from . import context_command

        return context_command.word([name, *rest], environ)
    if name not in COMMANDS:
        from hooks.utils.config import gone

        if name in gone.WORDS:
            return answering.fail("popkit", gone.WORDS[name], "--json" in rest, environ, [])
        return _not_known(f'unknown command "{text.cut(text.clean(name), 40)}"{nearest(name, names())}', environ)
    module_name, _, function = COMMANDS[name].partition(".")
    module = importlib.import_module("." + module_name, __package__)
    command = getattr(module, function)
    if name in _PARSE_THEMSELVES:
        code: int = command(rest, environ)
        return code
    from ..operations.tables import TABLES

    return answering.run(TABLES[name], command, rest, environ, getattr(module, "MISTAKES", ()))


def _not_known(message: str, environ: Mapping[str, str]) -> int:
    known = ", ".join((*names(), "help", "--version"))
    answering.write_view(text.wrap(f"popkit: {message}. Known: {known}", indent="  "), sys.stderr, environ)
    return 1


def _out_of_replay(words: list[str]) -> list[str]:
    """Return words that followed `popkit replay`, whose --decisions is --out."""
    old, new = "--decisions", "--out"
    return [new + word[len(old) :] if word.partition("=")[0] == old else word for word in words]


def words_of_context() -> dict[str, str]:
    """Return word -> what it does, of the words of `popkit context` that are commands, too."""
    from hooks.utils.operations import CONTEXT

    return {word: operation.help for word, operation in CONTEXT.by_name.items() if word not in ("", "help", *COMMANDS)}


def names() -> list[str]:
    """Return the names of all commands, those first that a person needs most."""
    return list(dict.fromkeys((*FIRST, *words_of_context(), *COMMANDS)))


def titles() -> dict[str, str]:
    """Return command -> what it does."""
    from ..operations.tables import TABLES

    known = {**words_of_context(), **{name: TABLES[name].title for name in COMMANDS}, **FIRST}
    return {name: known[name] for name in names()}


def overview(everything: bool = False) -> list[text.Line]:
    """Return the commands that a person needs most, or all."""
    shown = titles() if everything else FIRST
    lines: list[text.Line] = [*text.title("PopKit: lifetimes for tool results"), "popkit COMMAND", ""]
    for name, title in shown.items():
        lines += text.pair("  " + name, title, _COLUMN)
    rest = "" if everything else f"popkit help --all shows the other {len(names()) - len(FIRST)} commands. "
    return [*lines, "", *text.wrap(rest + "popkit help COMMAND says more; popkit --version shows the version.")]


def version() -> str:
    """Return the version, with the commit where Claude Code has installed one: it names the folder of a copy by that."""
    copy = os.path.basename(home.plugin_root())
    return VERSION + (f" ({copy})" if _COMMIT.issuperset(copy) and len(copy) == _COMMIT_CHARS else "")
