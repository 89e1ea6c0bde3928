"""The data rules of a session (HIPAA, zero data retention): under one, nothing of its content is written to a disk.

Claude Code tells its mods, and these the helper, which leaves the answer beside the session for hooks and commands. A configuration may
name rules, too. Where a client could say which rules apply and has not said it yet, one does: then nothing is kept at all. Under rules that
have a name, what is kept of the session lies in memory (io/volatile.py).
"""

from __future__ import annotations

from ..io import files, home
from ..io.system import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# In the folder of a session: the names of its rules, a line each; empty where none applies.
NAME = "data-rules"
UNKNOWN = "unknown"
KNOWN = ("hipaa", "zdr")
_TITLES = {"hipaa": "HIPAA", "zdr": "zero data retention"}
# The first client that says which rules apply.
_FIRST = (2, 1, 331)
_MOST_BYTES, _MOST_RULES, _NAME_CHARS = 4_096, 20, 60
_PROVIDER = "https://api.anthropic.com"


def held(environ: Mapping[str, str], popkit_home: str, session_id: str, configured: object) -> tuple[str, ...]:
    """Return the names of the rules under which nothing of a session may be written to a disk; () where it may. `configured`: the key
    `data_rules` of the configuration: None where no file has it, a list of names otherwise, which says what applies where Claude Code does
    not know."""
    named = tuple(str(rule) for rule in configured) if isinstance(configured, list) else ()
    said = _said(popkit_home, session_id) if session_id else ()
    if said is None:
        said = (UNKNOWN,) if is_asked(environ) else ()
    if UNKNOWN in said and isinstance(configured, list):
        said = tuple(rule for rule in said if rule != UNKNOWN)
    return tuple(dict.fromkeys((*named, *said)))


def named(rules: tuple[str, ...]) -> tuple[str, ...]:
    """Return those rules that are known to apply."""
    return tuple(rule for rule in rules if rule != UNKNOWN)


def _said(popkit_home: str, session_id: str) -> tuple[str, ...] | None:
    """Return the rules that were left beside a session; None where nothing was. What is there and cannot be read is a rule."""
    path = _path(popkit_home, session_id)
    try:
        text = files.read_text(path, _MOST_BYTES)
    except (OSError, ValueError):
        return (UNKNOWN,) if files.is_there(path) else None  # where our whole folder is out of reach, nothing can be kept anyway
    return None if text is None else tuple(text.split("\n")[:-1])


def say(popkit_home: str, session_id: str, rules: tuple[str, ...]) -> None:
    """Leave the rules of a session beside it. A rule that was named before stays: what the session holds came under it. OSError where that
    cannot be done: then nothing is kept as long as the client could say."""
    rules = tuple(dict.fromkeys((*named(_said(popkit_home, session_id) or ()), *rules)))
    files.make_private_folder(home.session_folder(popkit_home, session_id), may_be_link=False)
    files.replace_text(_path(popkit_home, session_id), "".join(rule + "\n" for rule in rules))


def is_said(popkit_home: str, session_id: str) -> bool:
    """Return whether anything was left beside a session."""
    return files.is_there(_path(popkit_home, session_id))


def forget(popkit_home: str, session_id: str) -> None:
    """Forget, as a session begins or goes on in another client, what the former one has said; only rules that it named stay. Until this one
    has spoken, it is as if none had."""
    if not named(_said(popkit_home, session_id) or ()):
        try:
            files.remove(_path(popkit_home, session_id))
        except OSError:
            return  # what cannot be removed cannot be read either, or is as it was


def _path(popkit_home: str, session_id: str) -> str:
    return join(home.session_folder(popkit_home, session_id), NAME)


def reported(value: object, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the rules that a client's `dataRules` mean; None is a client that does not know (yet). A name that we do not know is a rule,
    and so is one of those that we know where an object of rules does not have it."""
    if value is None:
        return (UNKNOWN,) if is_asked(environ) else ()
    if isinstance(value, dict):
        value = [name for name in dict.fromkeys((*KNOWN, *value)) if value.get(name) is not False]
    if not isinstance(value, list) or len(value) > _MOST_RULES:
        return (UNKNOWN,)
    return tuple(dict.fromkeys(name if isinstance(name, str) and _is_name(name) else UNKNOWN for name in value))


def _is_name(name: str) -> bool:
    return 0 < len(name) <= _NAME_CHARS and name.isprintable()


def is_asked(environ: Mapping[str, str]) -> bool:
    """Return whether the client around us asks for the rules of its account, so that it will say them: a new one that may ask, and that
    talks to the provider itself. One that asks nobody never knows, and then the configuration decides alone."""
    name, _, rest = environ.get("AI_AGENT", "").partition("_")
    version = tuple(int(part) for part in rest.partition("_")[0].split("-") if part.isdecimal())
    if name != "claude-code" or version < _FIRST:
        return False
    if environ.get("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "") not in ("", "0", "false"):
        return False
    address = environ.get("ANTHROPIC_BASE_URL") or _PROVIDER
    return address == _PROVIDER or address.startswith(_PROVIDER + "/")


def in_words(rules: tuple[str, ...], is_in_memory: bool) -> str:
    """Return the statement about data rules where rules hold. `is_in_memory`: the session's files have a folder in memory."""
    names = [_TITLES.get(rule, rule) for rule in named(rules)]
    if not names:
        return (
            "Claude Code has not said whether a data rule (HIPAA, zero data retention) applies to this session. Until it does, PopKit keeps"
            " nothing of it."
        )
    beginning = f"This session is under a data rule ({', '.join(names)}). PopKit"
    if is_in_memory:
        return (
            f"{beginning} works, but holds everything about it in memory and writes nothing to disk. What leaves the context can be"
            " restored until the session ends. Then all of it is gone. Nothing is learnt from it, and the page does not list it."
        )
    return (
        f"{beginning} has no folder in memory for it, because it has ended or because this system offers none, and keeps nothing of it:"
        " results enter as they come, compactions are Claude Code's own, and nothing is archived, learnt or listed."
    )
