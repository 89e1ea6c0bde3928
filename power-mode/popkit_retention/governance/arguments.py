"""The arguments of `popkit retention`, parsed: `KEY=VALUE` for policies, targets for holds."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

from popkit_retention.core import text
from popkit_retention.core.flag_parser import UsageError
from popkit_retention.core.hosts.transcripts import projects
from popkit_retention.core.io import repository
from popkit_retention.core.retention_kit.holds import ITEM, PROJECT, SESSION
from popkit_retention.core.text import quote as shown

from .errors import DomainUnavailable
from .operations import LISTED, RETENTION_COMMAND
from .policies import DEFAULT_POLICY, DOMAINS, KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from popkit_retention.core.flag_parser import Words

    from ..cli.terminal import Bar
    from .controller import Controller

_SET, _ADD, REMOVE = "=", "+=", "-="
_SWITCHES = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
_NUMERALS = "keep_context_ids"  # the list of numbers
_LONGEST_NUMBER = 40  # digits and signs: no key takes a longer number
_NAMED = 5  # sessions that a message names


class Request:
    """A request: the parsed words, the controller that answers it, the time, and the domains that it is about. `unknown`: the sessions that
    it names of which nothing is here."""

    __slots__ = ("arguments", "bar", "controller", "domain", "domains", "environ", "flags", "now", "unknown", "word")

    def __init__(self, parsed: Words, controller: Controller, environ: Mapping[str, str], bar: Bar) -> None:
        self.word = parsed.word
        self.arguments: list[Any] = parsed.arguments
        self.flags: dict[str, Any] = parsed.flags
        self.controller = controller
        self.environ = environ
        self.bar = bar
        self.now = controller.now()
        self.unknown: list[str] = []
        self.domain: str | None = self.flags.get("domain")
        self.domains = DOMAINS if self.domain is None else (self.domain,)

    @property
    def most(self) -> int | None:
        """Return how many entries a list shows; None for all."""
        return None if "all" in self.flags else LISTED

    @property
    def notes(self) -> list[text.Line]:
        """Return what else a person should hear."""
        named = text.listed(list(map(shown, self.unknown)), _NAMED)
        return text.wrap(f"Nothing is here of {named} yet: check the id, unless its data is still to come.") if named else []

    def progress(self, _what: str, done: int, whole: int) -> None:
        """Show the progress of long work."""
        self.bar.show(done, whole)


class Assignment(NamedTuple):
    """A change of a domain's key, by `=`, `+=` or `-=`, to a value as in a policy's JSON."""

    domain: str
    key: str
    how: str
    value: object


def read(word: str, domain: str = "") -> Assignment:
    """Return one parsed `KEY=VALUE`, whose key names its domain unless one is given; UsageError for anything else."""
    left, equals, value = word.partition("=")
    if not equals:
        raise UsageError(f"{shown(word)} is not KEY=VALUE. For example: memory.older_than_days=90")
    how = _SET
    if left[-1:] in ("+", "-"):
        left, how = left[:-1], left[-1] + "="
    named, dot, key = left.strip().rpartition(".")
    if key not in KEYS:
        raise UsageError(f"unknown key {shown(key)}. Known: {', '.join(KEYS)}")
    if dot:
        if named not in DOMAINS:
            raise UsageError(f"unknown domain {shown(named)}. Known: {', '.join(DOMAINS)}")
        if domain and named != domain:
            raise UsageError(f"{shown(word)} is about {named}, and --domain says {domain}")
    elif not domain:
        raise UsageError(f"which domain is {key} for? Write memory.{key} or rag.{key}, or add --domain")
    default = getattr(DEFAULT_POLICY, key)
    if how != _SET and not isinstance(default, tuple):
        raise UsageError(f"{key} is not a list, so {how} does not work with it. Write {key}=VALUE")
    return Assignment(named or domain, key, how, _value(key, value.strip(), default))


def _value(key: str, word: str, default: object) -> object:
    if isinstance(default, bool):
        if word.lower() not in _SWITCHES:
            raise UsageError(f"{key} must be true or false, not {shown(word)}")
        return _SWITCHES[word.lower()]
    if isinstance(default, tuple):
        words = list(dict.fromkeys(item.strip() for item in word.split(",") if item.strip()))
        return [_number(key, item) for item in words] if key == _NUMERALS else words
    return _number(key, word)


def _number(key: str, word: str) -> int | float:
    """Return a number as Python writes it; the policy refuses one that is not finite."""
    try:
        number = float(word[:_LONGEST_NUMBER])
        if len(word) <= _LONGEST_NUMBER:
            return int(word) if word.lstrip("+-").isdigit() else number
    except ValueError:
        pass
    raise UsageError(f"{key} takes {'numbers' if key == _NUMERALS else 'a number'}, not {shown(word)}")


def config_of(changes: Iterable[Assignment], policy: Mapping[str, Any]) -> dict[str, object]:
    """Return the configuration after these changes, made in order: lists begin as the policy has them."""
    config: dict[str, Any] = {}
    for change in changes:
        if change.how == _SET or not isinstance(change.value, list):
            config[change.key] = change.value
            continue
        before = config.get(change.key, policy[change.key])
        if change.how == REMOVE:
            config[change.key] = [item for item in before if item not in change.value]
        else:
            config[change.key] = [*before, *(item for item in change.value if item not in before)]
    return config


def amends(changes: Iterable[Assignment]) -> bool:
    """Return whether the result depends on the present policy."""
    return any(change.how != _SET for change in changes)


def hold_targets(request: Request) -> list[tuple[str, str, str]]:
    """Return (domain, scope, target) of everything to hold: items by their ids, else a session or a project in each domain."""
    session, folder = request.flags.get("session"), request.flags.get("project")
    if sum((bool(request.arguments), session is not None, folder is not None)) != 1:
        raise UsageError(
            f"what should be held? Give ids, --session or --project, but only one of these: {RETENTION_COMMAND} hold add ID --why TEXT"
        )
    if session is not None:
        (target,) = session_ids([session], request)
        return [(domain, SESSION, target) for domain in request.domains]
    if folder is None:
        by_domain = request.controller.by_domain(request.arguments, request.domain)
        return [(domain, ITEM, id) for domain, ids in by_domain.items() for id in ids]
    key = repository.of(os.path.abspath(folder)).key
    stored = (resource for domain in request.domains for resource in request.controller.domain(domain).resources(request.now, key))
    if not os.path.isdir(folder) and next(stored, None) is None:
        raise UsageError(f"--project takes a folder, and {shown(folder)} is not one. Nothing is stored for it, either")
    return [(domain, PROJECT, key) for domain in request.domains]


def session_ids(words: Sequence[str], request: Request, removed: bool = False) -> list[str]:
    """Return for each word the id of the session that begins with it: among those with a transcript here, and those with stored data. The
    word itself where there is none: its data may come back from an archive. UsageError for a word that could be several. `removed`:
    whether nothing is asked for these any more."""
    ids = {projects.session_id_of(path) for path in projects.every(request.environ)}
    if not ids.issuperset(words):
        for domain in request.domains:
            with suppress(DomainUnavailable):  # a command that needs the domain raises it
                ids.update(id for resource in request.controller.domain(domain).resources(request.now) for id in resource.sessions)
    found = [_session(word, ids) for word in words]
    request.unknown += [id for id in found if id not in ids and not removed]
    return found


def _session(word: str, ids: set[str]) -> str:
    matches = [word] if word in ids else sorted(id for id in ids if word and id.startswith(word))
    if len(matches) > 1:
        raise UsageError(f"{shown(word)} could be {text.listed(matches, _NAMED)}. Give more of the session's id")
    return matches[0] if matches else word
