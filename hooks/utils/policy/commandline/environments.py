"""Read how a command changes the environment of the commands after it: variables, virtual environments, versions. Pure."""

from __future__ import annotations

from ..parts import OTHERWISE, normal_path
from .programs import NEUTRAL_VARIABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .place import Place

# Of programs that have other commands, those that change the environment.
_CHANGES = frozenset("use activate shell load local global default env exec deactivate switch unload swap".split())
# What a shell of the user has read already.
_USUAL = (".bashrc", ".zshrc", ".profile", ".bash_profile", ".zprofile", ".zshenv", "/nvm.sh", ".cargo/env")


def change(place: Place, words: list[str]) -> None:
    """Change the environment of a place as a command does, given by its words."""
    program = words[0]
    if program == "set":
        for at, word in enumerate(words[1:], 1):
            if (word[:1] == "-" and "e" in word) or (word == "errexit" and words[at - 1] == "-o"):
                place.stops_at_failure = True
        place.has_pipefail = place.has_pipefail or "pipefail" in words
    elif program in ("export", "declare", "typeset"):
        assignments = [word for word in words if "=" in word and word.partition("=")[0] not in NEUTRAL_VARIABLES]
        _add(place, assignments)
    elif program in ("source", "."):
        file = words[1] if len(words) > 1 else ""
        if file.endswith("/bin/activate"):
            _add(place, ["of " + normal_path(file, place.cwd).removesuffix("/bin/activate")])
        elif file and not file.endswith(_USUAL):
            _add(place, ["source " + normal_path(file, place.cwd)])
    elif program in ("unset", "deactivate", "workon") or not _CHANGES.isdisjoint(words[1:3]):
        _add(place, [" ".join(words)])


def _add(place: Place, items: list[str]) -> None:
    place.environment += [OTHERWISE + item for item in items if OTHERWISE + item not in place.environment]
