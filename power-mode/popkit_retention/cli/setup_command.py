"""`popkit setup NAME`: install the packages that some commands need. `popkit setup shell` puts a link on the PATH instead, and a feature
may have something of its own to set up.

Exit 0 when it is installed afterwards. Running it again updates the installation.
"""

from __future__ import annotations

from popkit_retention.core import text

from .. import features
from ..extras import EXTRAS, place_of
from . import shell_setup
from .answering import Answer, Refused
from .virtual_environment import set_up_extra

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.core.flag_parser import Words


MISTAKES = (OSError,)


def run(args: Words, environ: Mapping[str, str]) -> int | Answer:
    """List what can be set up, or set one of them up."""
    name: str = args.argument
    setups, scope = {setup.name: setup for setup in features.setups()}, args.flags.get("scope", "user")
    if name in setups:
        if args.json:
            raise Refused(f"popkit setup {name} shows a change and asks, so it has no --json. --yes skips the question")
        code: int = features.found(setups[name].does)(args.undo, scope, args.yes, environ)
        return code
    if name == shell_setup.SHELL and scope == "user":
        if args.json:
            raise Refused(f"popkit setup {name} asks, so it has no --json. --yes skips the question")
        return shell_setup.set_up_shell(args.undo, args.yes, environ)
    if args.undo or args.yes or scope != "user":
        asking, scoped = text.enumerated([*setups, shell_setup.SHELL]), text.enumerated([*setups])
        raise Refused(f"--undo and --yes are for popkit setup {asking}" + (f", --scope is for {scoped}" if scoped else ""))
    if not name:
        return _list(environ)
    result = set_up_extra(name, environ, quiet=args.json)
    message = f"{name} is ready: " + ("installed " + ", ".join(result["installed"]) if result["installed"] else "nothing was missing") + "."
    return Answer(text.wrap(message), result)


def _list(environ: Mapping[str, str]) -> Answer:
    lines = text.title("What can be set up")
    data = {}
    for name, (purpose, packages, _) in EXTRAS.items():
        python = place_of(name, environ)
        data[name] = {"for": purpose, "packages": packages, "python": python}
        lines += _row(name, bool(python), purpose)
    if not shell_setup.is_package():
        lines += _row(shell_setup.SHELL, bool(shell_setup.links(environ)), "popkit as a command of your shell, also after an upgrade")
    for setup in features.setups():
        lines += _row(setup.name, bool(features.found(setup.is_there)(environ)), setup.purpose)
    return Answer([*lines, "", *text.wrap("popkit setup NAME installs one of them, or brings it up to date.")], data)


def _row(name: str, is_ready: bool, purpose: str) -> list[text.Line]:
    return text.entry(f"{name:<12}{'ready' if is_ready else 'not set up'}", purpose, 24)
