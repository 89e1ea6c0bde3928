"""Change Claude Code's settings, only after showing the change and asking: `popkit statusline install` adds the status line,
`popkit native` switches the provider's own clearing of tool results on and off in a project, and both remove it again.

A file keeps its order, its spacing and its mode; another status line is put aside and comes back on `uninstall`.
"""

from __future__ import annotations

import json
import os
import shlex
import sys

from hooks.utils import text
from hooks.utils.hosts.claude_code import projects
from hooks.utils.io import files, home
from hooks.utils.io.codec import loads
from hooks.utils.io.storage import LOGS, Storage

from . import answering, settings_file
from .answering import Answer, Bar, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from hooks.utils.flag_parser import Parsed

    from ..lab.outcomes import NativeFit, NativeSettings


KEY = "statusLine"
SCRIPT = "statusline.sh"
PREVIOUS = "statusline.previous.json"
STORAGE = (Storage(LOGS, {"": r"statusline\.(sh|previous\.json)"}),)
_FOLDER = "${POPKIT_HOME:-${CLAUDE_CONFIG_DIR:-$HOME/.claude}/popkit}"
# In a project's settings, the same for everyone: the script behind it is each user's own. A shell expands no `~` in a variable.
SHARED = f'popkit="{_FOLDER}"; case "$popkit" in "~"|"~/"*) popkit=$HOME${{popkit#?}};; esac; sh "$popkit/{SCRIPT}"'


def value(scope: str, popkit_home: str) -> dict[str, Any]:
    """Return the status line for settings of a scope. In the user's own no variable counts: a project's settings may set any, and so choose
    which program runs."""
    command = f"sh {shlex.quote(os.path.join(popkit_home, SCRIPT))}" if scope == "user" else SHARED
    # Between events, the remaining time of the cache counts down.
    return {"type": "command", "command": command, "refreshInterval": 30}


class Settings:
    """One settings.json, read once, and our folder."""

    def __init__(self, scope: str, environ: Mapping[str, str]):
        self.environ = environ
        self.home = home.popkit_home(environ)
        self.value = value(scope, self.home)
        self.previous = settings_file.Previous(PREVIOUS, environ)
        project = environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
        folder = home.claude_folder(environ) if scope == "user" else os.path.join(os.path.abspath(project), ".claude")
        self.path = os.path.realpath(os.path.join(folder, "settings.json"))
        self.text = settings_file.read(self.path)
        try:
            self.current = settings_file.value_text(self.text or "{}", KEY)
        except (ValueError, RecursionError) as error:
            raise Refused(f"{self.path} is left alone, because it is not valid: {error}") from None

    def ours(self) -> dict | None:
        """Return the status line in the settings if it is ours, of any version; else None."""
        current = loads(self.current) if self.current else None
        return current if isinstance(current, dict) and self._is_ours(current.get("command")) else None

    def _is_ours(self, command: object) -> bool:
        is_shared = isinstance(command, str) and _FOLDER in command and command.endswith(f'/{SCRIPT}"')
        return is_shared or command == value("user", self.home)["command"]

    def is_agreed(self, after: str, yes: bool) -> bool:
        """Show the change and ask for it."""
        settings_file.show_change(self.path, self.text, after, self.environ)
        return settings_file.is_confirmed(yes)

    def write(self, after: str) -> None:
        """Write the change that was shown, if the file has not changed since."""
        settings_file.write(self.path, self.text, after)


def install_status_line(scope: str, yes: bool, replace: bool, environ: Mapping[str, str]) -> int:
    """Install the status line, after showing the change and asking. Return 0 when it is installed afterwards."""
    settings = Settings(scope, environ)
    ours = settings.ours()
    if settings.current and ours is None and not replace:
        raise Refused(
            f"{settings.path} has another status line: {settings.current}. --replace sets it aside, and `popkit statusline uninstall`"
            " brings it back"
        )
    before = settings.text or "{}\n"
    after = settings_file.with_value(before, KEY, settings_file.formatted(before, {**(ours or {}), **settings.value}))
    if ours == {**(ours or {}), **settings.value}:
        _write_script(settings)
        answering.say(f"The status line is already installed in {settings.path}.", environ)
        return 0
    if not settings.is_agreed(after, yes):
        return 1
    _write_script(settings)
    if settings.current is None:
        settings.previous.forget(settings.path)
    elif ours is None:
        settings.previous.keep(settings.path, settings.current)
    settings.write(after)
    answering.say(f"Installed in {settings.path}. It shows with the next answer in every running session.", environ)
    return 0


def uninstall_status_line(scope: str, yes: bool, environ: Mapping[str, str]) -> int:
    """Restore the previous status line. Return 0 when ours is not in the settings afterwards."""
    settings = Settings(scope, environ)
    if settings.ours() is None:
        answering.say(f"The status line is not in {settings.path}, so nothing was changed.", environ)
        return 0
    previous = settings.previous.of(settings.path)
    text = settings.text or ""  # it has our status line
    after = settings_file.with_value(text, KEY, previous) if isinstance(previous, str) else settings_file.without(text, KEY)
    if not settings.is_agreed(after, yes):
        return 1
    settings.write(after)
    settings.previous.forget(settings.path)
    answering.say(f"Uninstalled from {settings.path}." + (" The previous status line is back." if previous else ""), environ)
    return 0


def _write_script(settings: Settings) -> None:
    """Write the script that the settings name. It finds PopKit at its present place, or where an update has put it."""
    here = shlex.quote(os.path.join(home.plugin_root(), "bin", "popkit"))
    cache = shlex.quote(os.path.join(home.claude_folder(settings.environ), "plugins", "cache"))
    script = (
        "# Written by `popkit statusline install`; the status line in settings.json runs it.\n"
        f"for popkit in {cache}/*/popkit/*/bin/popkit; do :; done\n"
        f"[ -x {here} ] && popkit={here}\n"
        '[ -x "$popkit" ] && exec "$popkit" statusline\n'
        "exit 0\n"
    )
    files.make_private_folder(settings.home)
    files.replace_text(os.path.join(settings.home, SCRIPT), script)


# --- clearing by the provider ------------------------------------------------------------------------------------------------------------


MISTAKES = (OSError,)
# How many of the user's newest sessions are replayed, which takes about a minute.
_NEWEST = 30
_AT_LEAST = 20_000  # --at-least if only a trigger is given
ENV, VARIABLE, MANAGEMENT = "env", "CLAUDE_CODE_EXTRA_BODY", "context_management"
_CLEAR, _THINKING = "clear_tool_uses_20250919", {"type": "clear_thinking_20251015", "keep": "all"}


def native(args: Parsed, environ: Mapping[str, str]) -> Answer:
    """Show, set or remove the settings."""
    path = os.path.join(os.path.abspath(environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()), ".claude", "settings.local.json")
    try:
        before = settings_file.read(path)
        edit = edit_in(before or "{}")
        if args.word == "show":
            return Answer(_lines_of(path, edit))
        if args.word == "off":
            if before is None or edit is None:
                return Answer(text.wrap(f"Clearing by the provider is not set in {text.clean(path)}, so nothing was changed."))
            after, again = switched_off(before), "off"
        else:
            chosen, spared = _named(args) or _best(args, environ), getattr(args, "except")
            after, again = switched_on(before or "{}\n", edit_of(chosen, spared)), _again(chosen, spared)
    except NotOurs as error:
        raise Refused(f"{path} is left alone: {error}. Remove it by hand, and try again") from None
    except (ValueError, RecursionError) as error:
        raise Refused(f"{path} is left alone, because it is not valid: {error}") from None
    json.loads(after.lstrip("\ufeff"))  # the settings that were just written are valid
    command, effect = f"popkit native {again} --yes", "It takes effect with the next session of this project."
    is_done = settings_file.change(path, before, after, args.yes, args.dry_run, environ, command=command, effect=effect)
    return Answer([], code=int(not (is_done or args.dry_run)))


def _lines_of(path: str, edit: dict[str, Any] | None) -> list[text.Line]:
    lines = text.title("Clearing by the provider")
    if edit is None:
        return lines + text.wrap("Off in this project. `popkit native on` finds the settings that would have paid off on your sessions.")
    return [*lines, *text.wrap(_in_words(edit)), *text.wrap(f"In {text.clean(path)}. `popkit native off` removes it.")]


def _in_words(edit: dict[str, Any]) -> str:
    value = lambda name: edit.get(name, {}).get("value", 0) if isinstance(edit.get(name), dict) else 0  # noqa: E731
    message = f"On: from a prompt of {value('trigger'):,} tokens on, all results but the newest {value('keep'):,} are cleared"
    if value("clear_at_least"):
        message += f", if these are at least {value('clear_at_least'):,} tokens"
    spared = edit.get("exclude_tools")
    return message + (
        f"; never those of {text.listed([text.clean(str(tool)) for tool in spared], 5)}." if isinstance(spared, list) and spared else "."
    )


def _named(args: Parsed) -> NativeSettings | None:
    from ..lab.outcomes import NativeSettings

    if args.trigger is None:
        if args.keep is not None or args.at_least is not None:
            raise Refused("give --trigger, too")
        return None
    return NativeSettings(args.trigger, 15 if args.keep is None else args.keep, _AT_LEAST if args.at_least is None else args.at_least)


def _best(args: Parsed, environ: Mapping[str, str]) -> NativeSettings:
    """Return the settings that would have saved most on the user's newest sessions; Refused where none would have paid off."""
    from ..lab import outcomes
    from .lab_command import TTLS

    read = _newest_sessions(environ)
    if not read:
        raise Refused("there are no sessions here to learn from. Give the settings yourself: popkit native on --trigger 100000")
    with Bar(environ, "settings") as bar:
        best = outcomes.best_of(outcomes.native_fits(read, TTLS[args.ttl], args.model, progress=bar.show))
    if best is None:
        raise Refused(
            f"nothing was changed: on your {text.counted(len(read), 'newest session')} no setting would have paid off without many"
            " results being needed again. To switch it on anyway, give --trigger"
        )
    answering.write_view(text.wrap(_best_in_words(best, len(read))), sys.stdout, environ)
    return best.settings


def _best_in_words(best: NativeFit, count: int) -> str:
    trigger, keep, at_least = best.settings
    return (
        f"On your {text.counted(count, 'newest session')}, clearing all but the newest {keep} results from {trigger:,} tokens on,"
        f" {at_least:,} tokens or more at once, would have brought the cost to {best.cost:.3f} of what it was; {best.misses:.1f}"
        f" results per 100 requests would have been needed again, and {best.dearer:.0%} of the sessions would have cost more."
    )


def _newest_sessions(environ: Mapping[str, str]) -> list[Any]:
    from ..lab import sent_requests, survey
    from ..parallel import find

    folder = projects.folder_of(environ)
    if not os.path.isdir(folder):
        return []
    paths = [source.address for source in find([folder], lambda *_: None) if "/subagents/" not in source.address]
    read = []
    for path in sorted(paths, key=os.path.getmtime, reverse=True):
        try:
            session = sent_requests.read(path)
        except OSError:
            continue
        if len(session.requests) >= survey.LEAST_REQUESTS:
            read.append(session)
        if len(read) == _NEWEST:
            break
    return read


def _again(chosen: NativeSettings, spared: list[str]) -> str:
    """Return the words that set the same settings without a search."""
    trigger, keep, at_least = chosen
    words = [f"on --trigger {trigger} --keep {keep} --at-least {at_least}", *(f"--except {shlex.quote(tool)}" for tool in spared)]
    return " ".join(words)


# --- the client's settings for the provider's own clearing: text in, text out ---------------------------------------------------------
#
# The client merges CLAUDE_CODE_EXTRA_BODY over the body of each request, so its own edit of thinking, which it sends by default, has to be
# repeated beside ours.


class NotOurs(ValueError):
    """The settings have something that we leave alone; the message says what."""


def edit_of(settings: NativeSettings, spared: Sequence[str] = ()) -> dict[str, Any]:
    """Return the edit to ask the provider for; results of `spared` tools stay."""
    edit: dict[str, Any] = {
        "type": _CLEAR,
        "trigger": {"type": "input_tokens", "value": settings.trigger},
        "keep": {"type": "tool_uses", "value": settings.keep},
    }
    if settings.at_least:
        edit["clear_at_least"] = {"type": "input_tokens", "value": settings.at_least}
    return {**edit, "exclude_tools": list(spared)} if spared else edit


def edit_in(text: str) -> dict[str, Any] | None:
    """Return the edit that clears tool results in a settings file; None for none. NotOurs or ValueError for a file that is not
    understood."""
    edits = _body(_environment(text)).get(MANAGEMENT, {}).get("edits", [])
    return next((edit for edit in edits if isinstance(edit, dict) and edit.get("type") == _CLEAR), None)


def switched_on(text: str, edit: dict[str, Any]) -> str:
    """Return the settings with the edit, in place of an earlier one. NotOurs where they have something else there."""
    environment = _environment(text)
    body = _body(environment)
    others = [one for one in body.get(MANAGEMENT, {}).get("edits", [_THINKING]) if not _is_clear(one)]
    body[MANAGEMENT] = {**body.get(MANAGEMENT, {}), "edits": [*others, edit]}
    return _with(text, {**environment, VARIABLE: json.dumps(body)})


def switched_off(text: str) -> str:
    """Return the settings without the edit, and without what only the edit needed."""
    environment = _environment(text)
    body = _body(environment)
    others = [one for one in body.get(MANAGEMENT, {}).get("edits", []) if not _is_clear(one)]
    if others in ([], [_THINKING]):
        body.pop(MANAGEMENT, None)
    else:
        body[MANAGEMENT]["edits"] = others
    environment = {**environment, VARIABLE: json.dumps(body)} if body else {k: v for k, v in environment.items() if k != VARIABLE}
    return _with(text, environment) if environment else settings_file.without(text, ENV)


def _is_clear(edit: object) -> bool:
    return isinstance(edit, dict) and edit.get("type") == _CLEAR


def _with(text: str, environment: dict[str, Any]) -> str:
    return settings_file.with_value(text, ENV, settings_file.formatted(text, environment))


def _environment(text: str) -> dict[str, Any]:
    value = settings_file.value_text(text, ENV)
    environment = json.loads(value) if value else {}
    if not isinstance(environment, dict):
        raise NotOurs(f'"{ENV}" is not an object')
    return environment


def _body(environment: dict[str, Any]) -> dict[str, Any]:
    value = environment.get(VARIABLE, "{}")
    try:
        body = json.loads(value) if isinstance(value, str) else None
    except ValueError:
        body = None
    management = body.get(MANAGEMENT, {}) if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(management, dict) or not isinstance(management.get("edits", []), list):
        raise NotOurs(f"{VARIABLE} has something that is not understood")
    return body
