"""Commands that other programs run: `popkit serve` (the mod), `popkit mcp` (an MCP client), `popkit completion` (a shell). And `popkit
dashboard`, the server of the page."""

from __future__ import annotations

import gc
import os
import sys

from .answering import Refused
from .commands import names, version, words_of_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hooks.utils.flag_parser import Parsed
    from hooks.utils.operation_tables import Table


def serve(args: Parsed, environ: Mapping[str, str]) -> int:
    """Run the resident helper of one session, which the mod inside the client starts. Where PopKit is switched off, it says so and ends."""
    if environ.get("POPKIT_OFF"):
        print('{"off": true}')
        return 0
    from hooks.utils import helper

    if args.join:
        helper.join(environ, args.session)
        return 0
    if args.draw:
        helper.draw_once(environ, args.session, args.transcript, args.cwd)
        return 0
    gc.enable()  # a command that ends at once does not need it
    helper.serve(environ, args.session, args.transcript, args.cwd, version())
    return 0


def dashboard(args: Parsed, environ: Mapping[str, str]) -> int:
    """Replace this process with the server of the page, so that signals reach it. It needs packages that this process cannot see (-S), so
    it runs in the interpreter that has them. Refused where none has."""
    import json

    from .. import extras

    python = extras.place_of("dashboard", environ)
    if not python:
        raise Refused("the dashboard needs packages beyond Python. Install them with: popkit setup dashboard")
    options = {
        "port": args.port, "ipv6": args.ipv6, "json": args.json, "version": version(),
        "open": not (args.no_open or args.json) and has_browser(environ),
    }  # fmt: skip
    script = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "dashboard", "server.py")
    environment = {name: value for name, value in environ.items() if not name.startswith("PYTHON")}
    sys.stdout.flush()
    os.execve(python, [python, script, json.dumps(options)], environment)  # noqa: S606  our own script


def has_browser(environ: Mapping[str, str]) -> bool:
    """Return whether a browser would open on the user's screen: not over SSH, and not without a display."""
    if environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"):
        return True
    return sys.platform == "darwin" and not environ.get("SSH_CONNECTION")


def mcp(_parsed: Parsed, environ: Mapping[str, str]) -> int:
    """Serve PopKit's tools to agents, over MCP on standard input and output, until the client has gone."""
    from ..mcp import tool_service

    gc.enable()  # a command that ends at once does not need it
    if sys.stdin is not None and sys.stdin.isatty():
        print("popkit mcp: waiting for an MCP client on standard input. `popkit mcp --help` says how to add it to one.", file=sys.stderr)
    tool_service.serve(environ, version())
    return 0


# --- the words that a shell completes ---

# Each passes the words up to the cursor; where no word is returned, the shell completes file names.
SCRIPTS = {
    "bash": """_popkit() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(popkit completion --words "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _popkit popkit
""",
    "zsh": """_popkit() {
  local -a found
  found=("${(@f)$(popkit completion --words "${(@)words[2,CURRENT-1]}" 2>/dev/null)}")
  compadd -a found 2>/dev/null || _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _popkit popkit
""",
    "fish": """function __popkit_words
  set -l words (commandline -opc)
  set -l found (popkit completion --words $words[2..] 2>/dev/null)
  if string match -q -- (commandline -ct)'*' $found
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c popkit -f -a '(__popkit_words)'
""",
}


def completion(args: Parsed, _environ: Mapping[str, str]) -> int:
    """Print a script, or the words that may come after others."""
    print(SCRIPTS[args.argument] if args.word == "" else "\n".join(words_after(args.arguments)))
    return 0


def words_after(words: list[str]) -> list[str]:
    """Return the words that may come after `popkit WORDS`; none where any word or file name may come."""
    from hooks.utils import flag_parser

    from ..operations.tables import TABLES

    if not words or words == ["help"]:
        return [*names(), "help"]
    name, *before = words[1:] if words[0] == "help" else words
    if name in words_of_context():
        name, before = "context", [name, *before]
    if name not in TABLES:
        return []
    table = TABLES[name]
    try:
        operation, called, rest = flag_parser.chosen(before, table)
    except flag_parser.UsageError:
        return [] if before else _names_after("", table)
    if operation.raw:
        return words_after([called, *rest])
    flags = table.flags_of(operation)
    asking = flags.get(before[-1]) if before else None
    if asking is not None and asking.type:
        return [word.lower() for word in asking.type.known]
    words_next = [name for name, flag in flags.items() if flag.many or name not in before]
    if all(word.startswith("-") for word in rest):
        words_next = [*_names_after(called, table), *(word.lower() for word in operation.type.known), *words_next]
    return words_next


def _names_after(called: str, table: Table) -> list[str]:
    """Return the words that may follow in the name of an operation."""
    rests = [name[len(called) :].split() for name in table.by_name if name.startswith(called + " " if called else "")]
    return list(dict.fromkeys(rest[0] for rest in rests if rest))
