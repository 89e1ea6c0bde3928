"""`popkit native`: switches the provider's own clearing of tool results on and off in a project's local settings, on the user's word."""

from __future__ import annotations

import difflib
import json
import os
import shlex
import sys

from hooks.utils import text
from hooks.utils.hosts.claude_code import projects
from hooks.utils.text import clean

from . import native_settings, screen
from .past_sessions import TTLS, Bar, Refused
from .statusline_install import read_settings, replace_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hooks.utils.flag_parser import Parsed

    from ..lab.outcomes import NativeFit as Fit
    from ..lab.outcomes import NativeSettings as Settings

MISTAKES = (OSError,)
# Of one's own sessions so many are replayed, the newest: a minute or so.
_NEWEST = 30
_FOR_ALL = 20_000  # --at-least where only a trigger is named


def run(args: Parsed, environ: Mapping[str, str]) -> int:
    """0 when the settings are as they were asked to be."""
    path = os.path.join(os.path.abspath(environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()), ".claude", "settings.local.json")
    try:
        before = read_settings(path)
        held = native_settings.held(before or "{}")
        if args.word == "show":
            return _show(path, held, environ)
        if args.word == "off":
            if before is None or held is None:
                print(f"It is not in {clean(path)}, so nothing was changed.")
                return 0
            return _change(path, before, native_settings.switched_off(before), "off", args, environ)
        chosen, spared = _named(args) or _found(args, environ), getattr(args, "except")
        edit = native_settings.edit_of(chosen, spared)
        return _change(path, before, native_settings.switched_on(before or "{}\n", edit), _again(chosen, spared), args, environ)
    except native_settings.NotOurs as error:
        raise Refused(f"{path} is left alone: {error}. Take it out by hand, and try again") from None
    except (ValueError, RecursionError) as error:
        raise Refused(f"{path} is left alone, because it is not valid: {error}") from None


def _show(path: str, held: dict[str, Any] | None, environ: Mapping[str, str]) -> int:
    lines = text.title("Clearing by the provider")
    if held is None:
        lines += text.wrap("Off in this project. `popkit native on` finds the settings that would have paid on your sessions.")
    else:
        lines += [*text.wrap(_in_words(held)), *text.wrap(f"In {clean(path)}. `popkit native off` takes it out.")]
    screen.show(lines, sys.stdout, environ)
    return 0


def _in_words(edit: dict[str, Any]) -> str:
    value = lambda name: edit.get(name, {}).get("value", 0) if isinstance(edit.get(name), dict) else 0  # noqa: E731
    said = f"On: from a prompt of {value('trigger'):,} tokens on, all results but the newest {value('keep'):,} are cleared"
    if value("clear_at_least"):
        said += f", if these are at least {value('clear_at_least'):,} tokens"
    spared = edit.get("exclude_tools")
    return said + (
        f"; never those of {text.listed([clean(str(tool)) for tool in spared], 5)}." if isinstance(spared, list) and spared else "."
    )


def _named(args: Parsed) -> Settings | None:
    from ..lab.outcomes import NativeSettings as Settings

    if args.trigger is None:
        if args.keep is not None or args.at_least is not None:
            raise Refused("name --trigger too")
        return None
    return Settings(args.trigger, 15 if args.keep is None else args.keep, _FOR_ALL if args.at_least is None else args.at_least)


def _found(args: Parsed, environ: Mapping[str, str]) -> Settings:
    """What would have paid best on the user's newest sessions; Refused where nothing would have."""
    from ..lab import outcomes

    read = _newest_sessions(environ)
    if not read:
        raise Refused("there are no sessions here to learn from. Name the settings yourself: popkit native on --trigger 100000")
    bar = Bar(environ, "settings")
    best = outcomes.best_of(outcomes.native_fits(read, TTLS[args.ttl], args.model, progress=bar.show))
    bar.end()
    if best is None:
        raise Refused(
            f"nothing was changed: over your {text.counted(len(read), 'newest session')} no setting would have paid without many results"
            " being needed again. To set it all the same, name --trigger"
        )
    screen.show(text.wrap(_told(best, len(read))), sys.stdout, environ)
    return best.settings


def _told(best: Fit, count: int) -> str:
    trigger, keep, at_least = best.settings
    return (
        f"Over your {text.counted(count, 'newest session')}, clearing all but the newest {keep} results from {trigger:,} tokens on, "
        f"{at_least:,} tokens or more at once, would have come to {best.cost:.3f} of the cost without; {best.misses:.1f} results per 100 "
        f"requests would have been needed again, and {best.dearer:.0%} of the sessions would have been dearer."
    )


def _newest_sessions(environ: Mapping[str, str]) -> list[Any]:
    from ..lab import sessions as lab_sessions
    from ..lab import survey

    folder = projects.folder_of(environ)
    if not os.path.isdir(folder):
        return []
    paths = [path for _, path in survey.find([folder], lambda *_: None) if "/subagents/" not in path]
    read = []
    for path in sorted(paths, key=os.path.getmtime, reverse=True):
        try:
            session = lab_sessions.read(path)
        except OSError:
            continue
        if len(session.requests) >= survey.LEAST_REQUESTS:
            read.append(session)
        if len(read) == _NEWEST:
            break
    return read


def _again(chosen: Settings, spared: list[str]) -> str:
    """The words that ask for the same settings without looking for them."""
    trigger, keep, at_least = chosen
    words = [f"on --trigger {trigger} --keep {keep} --at-least {at_least}", *(f"--except {shlex.quote(tool)}" for tool in spared)]
    return " ".join(words)


def _change(path: str, before: str | None, after: str, again: str, args: Parsed, environ: Mapping[str, str]) -> int:
    """Shows the change, asks, makes it if the file is still what it was. `again`: the words that ask for it."""
    if after == before:
        print(f"{clean(path)} asks for just that already.")
        return 0
    diff = difflib.unified_diff((before or "").splitlines(), after.splitlines(), path, path, "now", "then", lineterm="")
    screen.show([clean(line.replace("\t", "    ")) for line in diff], sys.stdout, environ)
    if args.dry_run:
        print(f"Nothing was changed. To make this change: popkit native {again} --yes")
        return 0
    if not args.yes and not screen.said_yes("Make this change?"):
        print("Nothing was changed. --yes answers beforehand.")
        return 1
    json.loads(after.lstrip("\ufeff"))  # what is written can be read again
    if read_settings(path) != before:
        raise Refused(f"{path} has changed in the meantime, so nothing was written. Try again")
    replace_settings(path, after)
    print(f"Changed {clean(path)}. It holds from the next session of this project on.")
    return 0
