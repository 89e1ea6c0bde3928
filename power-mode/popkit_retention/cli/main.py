"""The command line: one table of commands, each a module that is imported only when it is called."""

from __future__ import annotations

import importlib
import os
import sys

from hooks.utils import text
from hooks.utils.edges import home

from . import screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# name -> (module, what it does). A module has add_parser(subparsers) and run(args, environ) -> exit code, or reads its words by
# itself: run_words(words, environ).
COMMANDS = {
    "context": ("context_command", "what a session's context holds: status, timeline, reasons"),
    "restore": ("restore_command", "print what was cleared, or put it back"),
    "archive": ("archive_command", "look into what was cleared: list, search, show, verify, prune"),
    "memory": ("memory_command", "what past sessions have taught: list, search, why, learn"),
    "retention": ("retention_command", "what stored data may be deleted: policies, holds, the log"),
    "try": ("try_command", "show what PopKit would say about your newest session"),
    "lab": ("lab_command", "what past sessions would have saved under each policy"),
    "native": ("native_command", "let the provider clear old tool results by itself"),
    "budget": ("budget_command", "limits of a session and a month, and what is used"),
    "config": ("config_command", "check and show the configuration"),
    "doctor": ("doctor_command", "check that everything is in place and works"),
    "dashboard": ("dashboard_command", "one page that shows everything live, on this machine"),
    "setup": ("setup_command", "install what some commands need beyond Python"),
    "statusline": ("statusline_command", "one line for Claude Code's status line"),
    "mcp": ("mcp_command", "tools for agents, over MCP (a client starts it)"),
    "serve": ("serve_command", "answer the code inside the client (it starts this)"),
    "uninstall": ("uninstall_command", "delete what PopKit has stored, and remove the status line"),
}


def main(argv: list[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Runs one command; returns the exit code: 0, or 1 for what the user got wrong."""
    argv = sys.argv[1:] if argv is None else argv
    if sys.stdout is None:  # started with it closed: what is opened next would be taken for it
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        code = _run(argv, environ)
        sys.stdout.flush()
    except home.NoHome as error:
        print(f"popkit: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        _write_no_more()  # the reader of a pipe has gone (`| head`)
        return 0
    except OSError as error:
        print(f"popkit: {text.clean(str(error))}", file=sys.stderr)
        _write_no_more()
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _write_no_more() -> None:
    """What is still to be written goes nowhere: at the interpreter's end that would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(argv: list[str], environ: Mapping[str, str]) -> int:
    name, rest = (argv[0], argv[1:]) if argv else ("help", [])
    if name in ("help", "-h", "--help"):
        if not rest:
            screen.show(overview(), sys.stdout, environ)
            return 0
        name, rest = rest[0], ["--help"]
    if name == "replay":
        name, rest = "lab", _as_decisions(rest)
    if name in ("--version", "-V", "version"):
        print("popkit " + version())
        return 0
    if name not in COMMANDS:
        known = ", ".join((*COMMANDS, "help", "--version"))
        lines = text.wrap(f'popkit: unknown command "{text.cut(text.clean(name), 40)}". Known: {known}')
        screen.show(lines, sys.stderr, environ)
        return 1
    return _call(name, rest, environ)


def _as_decisions(words: list[str]) -> list[str]:
    """Turns the words of `popkit replay` into those of `popkit lab --decisions`, and says so."""
    print("popkit replay is another name of popkit lab --decisions, where its --decisions is --out", file=sys.stderr)
    old, new = "--decisions", "--out"
    return [old, *(new + word[len(old) :] if word.partition("=")[0] == old else word for word in words)]


def _call(name: str, rest: list[str], environ: Mapping[str, str]) -> int:
    module = importlib.import_module("." + COMMANDS[name][0], __package__)
    if hasattr(module, "run_words"):
        return module.run_words(rest, environ)
    import argparse

    parser = argparse.ArgumentParser(prog="popkit")
    module.add_parser(parser.add_subparsers(dest="command"))
    return module.run(parser.parse_args([name, *rest]), environ)


def overview() -> list[text.Line]:
    """The help of all commands."""
    lines: list[text.Line] = [*text.title("PopKit: lifetimes for tool results"), "popkit COMMAND", ""]
    for name, (_, said) in COMMANDS.items():
        lines += [f"  {name:<12}{said}"]
    return [*lines, "", "popkit help COMMAND says more; popkit --version tells the version."]


def version() -> str:
    """The plugin's version, as its manifest says; as the package says where it is installed as one."""
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
