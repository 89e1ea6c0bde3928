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
    "archive": "archive_command.run",
    "memory": "memory_command.run",
    "retention": "retention_command.run",
    "try": "try_command.run",
    "lab": "lab_command.run",
    "bill": "spending_command.bill",
    "misses": "spending_command.misses",
    "limits": "spending_command.plan_limits",
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
        if not rest or rest == ["--json"]:
            return answering.show(Answer(overview(), commands()), bool(rest), environ)
        name, rest = rest[0], ["--help"]
        if name.startswith("-"):
            return _not_known(f'"{text.cut(text.clean(name), 40)}" is not a command. popkit help takes the name of one, or --json', environ)
    if name == "replay":
        name, rest = "lab", _as_decisions(rest)
    if name in ("--version", "-V", "version"):
        print("popkit " + version())
        return 0
    if name not in COMMANDS:
        from hooks.utils.config import gone

        if name in gone.WORDS:
            return answering.fail("popkit", gone.WORDS[name], "--json" in rest, environ, [])
        return _not_known(f'unknown command "{text.cut(text.clean(name), 40)}"{nearest(name, COMMANDS)}', environ)
    module_name, _, function = COMMANDS[name].partition(".")
    module = importlib.import_module("." + module_name, __package__)
    command = getattr(module, function)
    if name in _PARSE_THEMSELVES:
        code: int = command(rest, environ)
        return code
    from ..operations.tables import TABLES

    return answering.run(TABLES[name], command, rest, environ, getattr(module, "MISTAKES", ()))


def _not_known(message: str, environ: Mapping[str, str]) -> int:
    known = ", ".join((*COMMANDS, "help", "--version"))
    answering.write_view(text.wrap(f"popkit: {message}. Known: {known}", indent="  "), sys.stderr, environ)
    return 1


def _as_decisions(words: list[str]) -> list[str]:
    """Turn the words of `popkit replay` into those of `popkit lab --decisions`, and say so."""
    print("popkit replay is another name of popkit lab --decisions, where its --decisions is --out", file=sys.stderr)
    old, new = "--decisions", "--out"
    return [old, *(new + word[len(old) :] if word.partition("=")[0] == old else word for word in words)]


def commands() -> dict[str, str]:
    """Return command -> its title."""
    from ..operations.tables import TABLES

    return {name: TABLES[name].title for name in COMMANDS}


def overview() -> list[text.Line]:
    """Return the overview of all commands."""
    lines: list[text.Line] = [*text.title("PopKit: lifetimes for tool results"), "popkit COMMAND", ""]
    for name, title in commands().items():
        lines += text.pair("  " + name, title, _COLUMN)
    return [*lines, "", "popkit help COMMAND says more; popkit --version shows the version."]


def version() -> str:
    """Return the version, with the commit where Claude Code has installed one: it names the folder of a copy by that."""
    copy = os.path.basename(home.plugin_root())
    return VERSION + (f" ({copy})" if _COMMIT.issuperset(copy) and len(copy) == _COMMIT_CHARS else "")
