"""`popkit retention`: what stored data may be deleted, and when, in a shell. Exit 1 when the user got something wrong, or something is
broken.

The Controller decides and does everything; what people read of its answers comes from `views`.
"""

from __future__ import annotations

import os
import sys

from hooks.utils import flag_parser, text
from hooks.utils.io import failures
from hooks.utils.io.home import NoHome
from hooks.utils.io.system import now as time_of_day
from hooks.utils.state.collecting import HOOK

from ..governance import hourly_job
from ..governance.controller import Controller
from ..governance.domains import USER
from ..governance.errors import Conflict, Damaged, GovernanceError
from ..governance.policies import DOMAINS, RetentionPolicy, merged
from ..operations.retention_table import COMMAND, LISTED, TABLE
from ..views import retention_activity as retention_deeds
from ..views import retention_phrases
from ..views import retention_policies as retention_texts
from . import retention_holds, retention_values, screen
from .answering import Answer, run
from .past_sessions import Bar, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MISTAKES = (Refused, GovernanceError, NoHome, OSError)


class Asked:
    """One question: the words as understood, whom it is put to, the time, and the domains that it is about."""

    __slots__ = ("arguments", "bar", "controller", "domain", "domains", "environ", "flags", "now", "word")

    def __init__(self, parsed: flag_parser.Parsed, controller: Controller, environ: Mapping[str, str]) -> None:
        self.word = parsed.word
        self.arguments: list[Any] = parsed.arguments
        self.flags: dict[str, Any] = parsed.flags
        self.controller = controller
        self.environ = environ
        self.bar = Bar(environ, "items")
        self.now = controller.now()
        self.domain: str | None = self.flags.get("domain")
        self.domains = DOMAINS if self.domain is None else (self.domain,)

    @property
    def most(self) -> int | None:
        """How many things a list shows."""
        return None if "all" in self.flags else LISTED

    def progress(self, _what: str, done: int, whole: int) -> None:
        """Shows how far long work is."""
        self.bar.show(done, whole)


def run_words(words: list[str], environ: Mapping[str, str] = os.environ) -> int:
    """Answers one line of words; the exit code."""
    if words[:1] == ["gc"] and "--auto" in words and "--quiet" in words:
        return _quietly(words, environ)
    return run(TABLE, _answer, words, environ, MISTAKES)


def _quietly(words: list[str], environ: Mapping[str, str]) -> int:
    """For a hook's child: nobody reads what it prints or how it ends."""
    try:
        _answer(flag_parser.parse(words, TABLE), environ)
    except Exception as error:  # noqa: BLE001  whatever it is, the log is where it is looked for
        failures.record(environ, HOOK, error)
    return 0


def _answer(parsed: flag_parser.Parsed, environ: Mapping[str, str]) -> Answer:
    with Controller(environ, USER, now=lambda: time_of_day(environ)) as controller:
        asked = Asked(parsed, controller, environ)
        try:
            return _ANSWERS[parsed.word](asked)
        finally:
            asked.bar.end()


# --- policies --------------------------------------------------------------------------------------------------------------------------


def _show(asked: Asked) -> Answer:
    found: dict[str, Any] = asked.controller.status(asked.domain)
    requests: dict[str, Any] = asked.controller.requests()
    found["requests"] = [each for each in requests["requests"] if each["domain"] in asked.domains]
    return Answer(retention_texts.shown(found, asked.now, COMMAND), found)


def _set(asked: Asked) -> Answer:
    wanted: dict[str, list[retention_values.Assignment]] = {}
    for word in asked.arguments:
        change = retention_values.read(word, asked.domain or "")
        if change.key == "keep_session_ids" and isinstance(change.value, list):
            # As `hold add --session` takes it: a policy compares whole ids, and a beginning would keep nothing.
            change = change._replace(value=retention_holds.sessions_meant(change.value, asked))
        wanted.setdefault(change.domain, []).append(change)
    before: dict[str, Any] = asked.controller.policies()
    configs = {domain: retention_values.config_of(changes, before[domain]) for domain, changes in wanted.items()}
    for config in configs.values():
        merged(RetentionPolicy(), config)  # all of it is refused, or none
    expect = before["revision"] if any(map(retention_values.amends, wanted.values())) else None
    found: list[dict[str, Any]] = []
    for domain, config in configs.items():
        try:
            found.append(asked.controller.configure(domain, config, expect))
        except Conflict:
            done = f"Only {found[0]['domain']} was set" if found else "Nothing was set"
            raise Refused(f"somebody else has changed the policies at the same time. {done}. Look at them, and try again") from None
        expect = None if expect is None else found[-1]["revision"]
    return Answer(retention_texts.configured(before, found, COMMAND), {"policies": found})


def _accept(asked: Asked) -> Answer:
    found: list[dict[str, Any]] = [asked.controller.accept(id) for id in dict.fromkeys(asked.arguments)]
    return Answer([line for each in found for line in retention_texts.accepted(each, COMMAND)], {"accepted": found})


def _decline(asked: Asked) -> Answer:
    found: list[dict[str, Any]] = [asked.controller.decline(id) for id in dict.fromkeys(asked.arguments)]
    return Answer([f"Declined {each['request']}. Nothing else changed." for each in found], {"declined": found})


def _unset(asked: Asked) -> Answer:
    found: dict[str, Any] = asked.controller.unset(asked.arguments[0], asked.domain)
    said = f"{found['project']} has no {' or '.join(found['domains'])} policy of its own any more. Yours applies there again."
    return Answer(text.wrap(said), found)


def _history(asked: Asked) -> Answer:
    found: dict[str, Any] = asked.controller.history(asked.domain)
    return Answer(retention_texts.history(found["versions"], asked.now, COMMAND), found)


def _rollback(asked: Asked) -> Answer:
    (revision,) = asked.arguments
    try:
        before = asked.controller.policies()
    except Damaged:
        before = None  # then it is written anew
    found: dict[str, Any] = asked.controller.rollback(revision, asked.domain)
    return Answer(retention_texts.rolled_back(revision, before, found, COMMAND), found)


# --- what they say of things -----------------------------------------------------------------------------------------------------------


def _explain(asked: Asked) -> Answer:
    found: dict[str, Any] = asked.controller.explain(asked.arguments[0], asked.domain)
    policy = asked.controller.get(found["domain"], found["project"])
    return Answer(retention_texts.explained(found, policy, asked.now, COMMAND), found)


def _apply(asked: Asked) -> Answer:
    found: list[dict[str, Any]] = [asked.controller.apply(domain, dry_run="dry-run" in asked.flags) for domain in asked.domains]
    lines: list[text.Line] = []
    for each in [part for domain in found for part in (domain, *domain.get("own", ()))]:
        labels = asked.controller.describe(each["domain"], retention_texts.shown_ids(each, asked.most))
        lines += retention_texts.applied(each, labels, asked.now, asked.most)
    if any(part["eligible"] for each in found for part in (each, *each.get("own", ()))):
        lines += ["", *retention_phrases.what_goes(COMMAND)]
    return Answer(lines, {"domains": found})


def _gc(asked: Asked) -> Answer:
    if "auto" in asked.flags:
        if others := [name for name in asked.flags if name not in ("auto", "quiet", "json")]:
            raise flag_parser.UsageError(f"--auto decides by itself, so --{others[0]} does not go with it")
        found = hourly_job.collect(asked.environ)
        lines = retention_deeds.collected({**found, "dry_run": False}, asked.now, asked.most, COMMAND)
        return Answer(lines or ["Nothing is due."], found)
    if "quiet" in asked.flags:
        raise flag_parser.UsageError("--quiet goes only with --auto")
    doing, sure = "dry-run" not in asked.flags, "yes" in asked.flags
    if doing and "json" in asked.flags and not sure:
        raise Refused("nothing was changed: --json needs --yes or --dry-run")
    found = _collect(asked, dry_run=not (doing and sure))
    if doing and sure:
        return Answer(retention_deeds.collected(found, asked.now, asked.most, COMMAND), found)
    lines = retention_deeds.collected(found, asked.now, asked.most, COMMAND)
    if not doing or retention_deeds.is_idle(found):
        said = "There is nothing to collect." if doing else "This was a dry run: nothing was changed."
        return Answer([*lines, "", said], found)
    screen.show(lines, sys.stdout, asked.environ)
    if not screen.said_yes("Do this?"):
        raise Refused("nothing was changed. --yes answers beforehand")
    found = _collect(asked, dry_run=False)
    return Answer(retention_deeds.done(found, COMMAND), found)


def _collect(asked: Asked, dry_run: bool) -> dict[str, Any]:
    placeholders = "placeholders" in asked.flags
    return asked.controller.gc(asked.domain, dry_run=dry_run, placeholders=placeholders, progress=asked.progress)


def _undo(asked: Asked) -> Answer:
    found: dict[str, Any] = asked.controller.undo(asked.arguments, asked.domain)
    return Answer(retention_deeds.unmarked(found["unmarked"]), found)


# --- archives --------------------------------------------------------------------------------------------------------------------------


def _archive(asked: Asked) -> Answer:
    found: list[dict[str, Any]] = []
    wanted: dict[str, list[str] | None] = {**asked.controller.by_domain(asked.arguments, asked.domain)}
    if not asked.arguments:
        wanted = {domain: None for domain in wanted if _lets_go(asked, domain)}
        if not wanted:
            raise Refused(f"nothing may be deleted now. To archive something else, name it: {COMMAND} archive ID…")
    for domain, ids in wanted.items():
        made = asked.controller.archive(domain, ids, asked.flags.get("note", ""), asked.progress)
        found.append({"domain": domain, **made})
    return Answer(retention_deeds.archived(found, COMMAND), {"archives": found})


def _lets_go(asked: Asked, domain: str) -> bool:
    found: dict[str, Any] = asked.controller.apply(domain, dry_run=True)
    return any(each["eligible"] for each in (found, *found.get("own", ())))


def _archives(asked: Asked) -> Answer:
    found: dict[str, Any] = asked.controller.archives()
    return Answer(retention_deeds.archives(found["archives"], asked.now, COMMAND), found)


def _restore(asked: Asked) -> Answer:
    found: dict[str, Any] = asked.controller.restore(asked.arguments[0], "sound" in asked.flags, asked.progress)
    return Answer(retention_deeds.restored(found), found)


def _remove(asked: Asked) -> Answer:
    sure, ids = "yes" in asked.flags, list(dict.fromkeys(asked.arguments))
    if not sure and "json" in asked.flags:
        raise Refused("nothing was deleted: --json needs --yes")
    if not sure:
        listed: dict[str, Any] = asked.controller.archives()
        known = {each["archive_id"]: each for each in listed["archives"]}
        screen.show(retention_deeds.to_remove(ids, known, asked.now), sys.stdout, asked.environ)
        if not screen.said_yes("Delete for good?"):
            raise Refused("nothing was deleted. --yes answers beforehand")
    found = [asked.controller.remove(id) for id in ids]
    return Answer([f"Deleted {text.clean(str(each['archive_id']))} for good." for each in found], {"removed": found})


# --- proof -----------------------------------------------------------------------------------------------------------------------------


def _verify(asked: Asked) -> Answer:
    found: dict[str, Any] = asked.controller.verify("read-data" in asked.flags, asked.progress)
    return Answer(retention_deeds.verified(found), found, code=int(not found["ok"]))


def _log(asked: Asked) -> Answer:
    found: dict[str, Any] = asked.controller.log(asked.flags["most"], asked.domain, asked.flags.get("action"), asked.flags.get("id"))
    return Answer(retention_deeds.logged(found["entries"], asked.now), found)


_ANSWERS = {
    "show": _show,
    "set": _set,
    "accept": _accept,
    "decline": _decline,
    "unset": _unset,
    "history": _history,
    "rollback": _rollback,
    "explain": _explain,
    "apply": _apply,
    "gc": _gc,
    "undo": _undo,
    "hold add": retention_holds.add,
    "hold list": retention_holds.list_,
    "hold release": retention_holds.release,
    "archive": _archive,
    "archives": _archives,
    "restore": _restore,
    "remove": _remove,
    "verify": _verify,
    "log": _log,
}
