"""How policies change: one revision after the other, each logged before it is written, so that every earlier one can be had again.

The caller holds the lock and has finished what others left.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hooks.utils.archive.content import stamp

from . import policy_file
from .errors import BadRequest, Conflict, Damaged, NotThere
from .policies import DOMAINS, RetentionPolicy, from_json, merged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .folder import Folder
    from .log import Entry, Log
    from .policies import Adjusted
    from .policy_file import State

CONFIGURED = "configured"
CONFIGURE = "configure"  # the deed


def current(log: Log, path: str) -> State:
    """What is in force. Damaged where the file is, or where it is missing or older than what the log says was written: without its keep
    lists too much would be let go."""
    # Asked before the file is read: what is written meanwhile can only be newer.
    written = next((each for each in log.entries(most=2, action=CONFIGURED) if each.todo is None), None)
    state = policy_file.read(path)
    if written and state.revision < _revision(written):
        what = f"has revision {state.revision}" if state.revision else "is missing or has no revision"
        raise Damaged(policy_file.damaged(path, f"{what}, and the log says that revision {_revision(written)} was written"))
    return state


def configure(
    log: Log, path: str, domain: str, config: Mapping[str, object], expect: int | None, by: str, now: float
) -> tuple[State, list[Adjusted]]:
    """Merges `config` into the policy of a domain (INV-RET-1, 4, 8); the other domain's stays as it is (INV-RET-2). The new state, and what
    of it was adjusted. Conflict where `expect` is not the revision that stands there."""
    state = current(log, path)
    if expect is not None and expect != state.revision:
        raise Conflict(f"the policies have revision {state.revision} by now, not {expect}. Look at them again, then set what you want")
    policy, adjusted = merged(state.policy(domain), config)
    return _write(log, path, state, {domain: policy}, {}, by, now), adjusted


def rollback(log: Log, path: str, revision: int, domains: Sequence[str], by: str, now: float) -> tuple[State, list[str]]:
    """Brings the policies of these domains back to what they were at a revision, as a new one; also where the file is damaged. The state,
    and the domains that changed by it. NotThere for a revision that the log does not know."""
    then = at_revision(log, revision)
    try:
        state = current(log, path)
    except Damaged:
        state = _last(log)
        changed = list(domains)
    else:
        changed = [domain for domain in domains if state.policy(domain) != then[domain]]
    if not changed:
        return state, []
    return _write(log, path, state, {domain: then[domain] for domain in changed}, {"rolled_back_to": revision}, by, now), changed


def at_revision(log: Log, revision: int) -> dict[str, RetentionPolicy]:
    """The policies of both domains at a revision; NotThere for one that never was."""
    if isinstance(revision, bool) or not isinstance(revision, int) or revision < 0:
        raise BadRequest(f"a revision is a whole number from 0, not {revision!r:.40}")
    if revision == 0:
        return dict.fromkeys(DOMAINS, RetentionPolicy())
    for entry in log.entries(action=CONFIGURED):
        if _revision(entry) == revision:
            return _policies_of(entry)
    raise NotThere(f"there is no revision {revision}. `popkit retention history` lists those that there are")


def history(log: Log, domain: str | None = None) -> list[dict[str, object]]:
    """Every revision, newest first: {"revision", "at", "by", "domain" ("" for both), "changed": {key: [before, after]}}."""
    entries = log.entries(action=CONFIGURED)
    found: list[dict[str, object]] = []
    before = dict.fromkeys(DOMAINS, RetentionPolicy())
    for entry in reversed(entries):
        after = _policies_of(entry)
        changed = {
            each: {key: [was, now] for key, was in before[each].to_json().items() if (now := after[each].to_json()[key]) != was}
            for each in DOMAINS
        }
        for each in (each for each in ([entry.domain] if entry.domain else DOMAINS) if domain in (None, each)):
            told = {"revision": _revision(entry), "at": entry.at, "by": entry.by, "domain": each, "changed": changed[each]}
            found.append({**told, **{key: entry.details[key] for key in ("rolled_back_to",) if key in entry.details}})
        before = after
    return found[::-1]


def finish(folder: Folder, log: Log, entry: Entry) -> None:
    """Writes the state that a killed process has logged, unless it stands there already."""
    wanted = policy_file.state_of((entry.todo or {})["state"])
    try:
        written = policy_file.read(folder.policies).revision >= wanted.revision
    except Damaged:
        written = False  # what is logged is whole
    if not written:
        policy_file.write(folder.policies, wanted)
    log.done(entry.number)


def differs(log: Log, path: str) -> str:
    """What is wrong between the file and the log, in a sentence; "" where they agree."""
    last = next(iter(log.entries(most=1, action=CONFIGURED)), None)
    state, revision = policy_file.read(path), _revision(last) if last else 0
    if state.revision != revision:
        return f"it has revision {state.revision}, and the log's last one is {revision}"
    if last is None:
        return ""  # the defaults, or what another program left
    logged = _policies_of(last)
    changed = [domain for domain in DOMAINS if state.policy(domain) != logged[domain]]
    if not changed:
        return ""
    return (
        f"the policy of {' and '.join(changed)} is not what was configured: somebody else has changed the file. "
        f"`popkit retention rollback {revision}` writes what was configured"
    )


def _write(
    log: Log, path: str, state: State, policies: Mapping[str, RetentionPolicy], more: Mapping[str, object], by: str, now: float
) -> State:
    # A file that was moved away, or brought back from a backup, counts on from where the log is.
    revision = max(state.revision, _last(log).revision) + 1
    after = replace(state, version=policy_file.VERSION, revision=revision, updated_at=stamp(now), **policies)
    whole = after.to_json()
    details = {"revision": after.revision, "policies": {domain: whole[domain] for domain in DOMAINS}, **more}
    domain = next(iter(policies)) if len(policies) == 1 else ""
    entry = log.append(CONFIGURED, domain, [], details, by, now, todo={"do": CONFIGURE, "state": whole})
    policy_file.write(path, after)
    log.done(entry.number)
    return after


def _last(log: Log) -> State:
    """The state that the log's last entry tells of; the defaults where there is none."""
    for entry in log.entries(most=1, action=CONFIGURED):
        return policy_file.State(policy_file.VERSION, _revision(entry), stamp(entry.at), **_policies_of(entry))
    return policy_file.State()


def _revision(entry: Entry) -> int:
    revision: Any = entry.details["revision"]
    return int(revision)


def _policies_of(entry: Entry) -> dict[str, RetentionPolicy]:
    policies: Any = entry.details["policies"]
    return {domain: from_json(policies[domain]) for domain in DOMAINS}
