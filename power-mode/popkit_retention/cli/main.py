"""The command line, which imports the module of a command only when that is called."""

from __future__ import annotations

import importlib
import os
import sys

from hooks.utils import text
from hooks.utils.flag_parser import nearest
from hooks.utils.io import home

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
# What a person needs most: the commands that help begins with. Words of `popkit context` are commands, too.
FIRST = ("context", "clear", "undo", "restore", "why", "auto", "bill", "try")
# What a command was called in the version before -> its words.
_RENAMED = {"archive": "restore", "limits": "bill limits", "misses": "bill misses", "replay": "lab replay"}
_PARSE_THEMSELVES = ("context", "restore", "memory", "retention")  # function(words, environ) -> exit code
_COLUMN = 14  # of the left column of the overview


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
            return answering.show(Answer(overview(rest == ["--all"]), commands()), rest == ["--json"], environ)
        name, rest = rest[0], [*rest[1:], "--help"]
        if name.startswith("-"):
            return _not_known(
                f'"{text.cut(text.clean(name), 40)}" is not a command. popkit help takes the name of one, --all or --json', environ
            )
    if name in ("--version", "-V", "version"):
        print("popkit " + version())
        return 0
    if name in _RENAMED:
        print(f"popkit: popkit {name} is popkit {_RENAMED[name]} now. The old word works until the next version.", file=sys.stderr)
        name, *words = _RENAMED[name].split()
        rest = [*words, *rest]
    if name not in COMMANDS and name in _words_of_context():
        name, rest = "context", [name, *rest]
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


def _words_of_context() -> dict[str, str]:
    """Return word -> what it does, of those of `popkit context` that are commands, too."""
    from hooks.utils.operations import CONTEXT

    renamed = {old: CONTEXT.by_name[new].help for old, new in CONTEXT.renamed.items()}
    return renamed | {name: operation.help for name, operation in CONTEXT.by_name.items() if name}


def commands() -> dict[str, str]:
    """Return command -> its title."""
    from ..operations.tables import TABLES

    return {name: TABLES[name].title for name in COMMANDS}


def overview(everything: bool = False) -> list[text.Line]:
    """Return the commands that a person needs most, or those and the others."""
    titles = _words_of_context() | commands()
    names = [*FIRST, *(name for name in commands() if name not in FIRST)] if everything else FIRST
    lines: list[text.Line] = [*text.title("PopKit: lifetimes for tool results"), "popkit COMMAND", ""]
    for name in names:
        lines += text.pair("  " + name, titles[name], _COLUMN)
    rest = "" if everything else f"popkit help --all shows the other {len(set(commands()) - set(FIRST))} commands. "
    return [*lines, "", *text.wrap(rest + "popkit help COMMAND says more; popkit --version shows the version.")]


def version() -> str:
    """Return the plugin's version, as its manifest says; as the package says where it is installed as one."""
    import json

    try:
        with open(os.path.join(home.plugin_root(), ".claude-plugin", "plugin.json"), encoding="utf-8") as file:
            return text.clean(json.load(file)["version"])
    except (OSError, ValueError, KeyError, TypeError):
        from importlib import metadata
    try:
        return metadata.version("popkit-retention")
    except metadata.PackageNotFoundError:
        return "unknown"
