"""Revisions of the policies: each change is logged before it is written, so that every earlier revision can be restored. The caller holds
the lock and has finished what others left undone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from popkit_retention.core.archive.content import stamp

from . import policy_file
from .errors import BadRequest, Conflict, GovernanceDamaged, ResourceNotFound
from .policies import DOMAINS, from_json, merged
from .policy_file import State
from .project_policies import OwnPolicy
from .strict_json import LARGEST_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .data_folder import Folder
    from .log import Entry, Log
    from .policies import Adjustment, RetentionPolicy


CONFIGURED = "configured"
CONFIGURE = "configure"  # the operation of the log


def current(log: Log, path: str) -> State:
    """Return the policies in force. Damaged where the file is, or where it is missing or older than what the log says was written: without
    its keep lists too much would be deleted."""
    # Read before the file: a file that is written meanwhile can only be newer.
    written = next((entry for entry in log.entries(most=2, action=CONFIGURED) if entry.todo is None), None)
    state = policy_file.read(path)
    if written and state.revision < _revision(written):
        what = f"has revision {state.revision}" if state.revision else "is missing or has no revision"
        raise GovernanceDamaged(policy_file.damaged(path, f"{what}, and the log says that revision {_revision(written)} was written"))
    return state


class Policies:
    """The policies in a file, for changes `by` somebody at a time (`now`, seconds)."""

    def __init__(self, log: Log, path: str, by: str, now: float) -> None:
        self.log = log
        self.path = path
        self.by = by
        self.now = now

    def configure(self, domain: str, config: Mapping[str, object], expect: int | None = None) -> tuple[State, list[Adjustment]]:
        """Merge `config` into the policy of a domain (INV-RET-1, 4, 8); leave the other domain's unchanged (INV-RET-2). Return the new
        state, and the values that were adjusted. Conflict where `expect` is not the present revision."""
        state = current(self.log, self.path)
        if expect is not None and expect != state.revision:
            raise Conflict(f"the policies are now at revision {state.revision}, not {expect}. Read them again, then set what you want")
        policy, adjusted = merged(state.policy(domain), config)
        return self._write(state.with_policies({domain: policy}), domain), adjusted

    def configure_project(
        self, domain: str, project: str, config: Mapping[str, object], request: str = ""
    ) -> tuple[State, list[Adjustment]]:
        """Merge `config` into a domain's policy in one project (its key); leave the user's and those of all other projects unchanged.
        `request`: the id of the request that this accepts, "" for none."""
        state = current(self.log, self.path)
        policy, adjusted = merged(state.policy(domain, project), config)
        before = state.own(domain)
        own = before.get(project, OwnPolicy()).changed(state.policy(domain), {key: getattr(policy, key) for key in config})
        after = state.with_own(domain, {**before, project: own})
        if len(policy_file.bytes_of(after)) > LARGEST_BYTES:
            raise BadRequest("the policies of all projects would become too large to be read. Shorten their keep lists first")
        return self._write(after, domain, [request] if request else [], project=project), adjusted

    def unset(self, domain: str, project: str) -> State:
        """End a project's own policy of a domain, so that the user's applies there again. ResourceNotFound where it has none."""
        state = current(self.log, self.path)
        own = dict(state.own(domain))
        if own.pop(project, None) is None:
            raise ResourceNotFound(f"{project} has no {domain} policy of its own. `popkit retention show` lists the projects that have one")
        return self._write(state.with_own(domain, own), domain, project=project)

    def rollback(self, revision: int, domains: Sequence[str]) -> tuple[State, list[str]]:
        """Restore the policies of these domains as of a revision, those of projects too, as a new one; also where the file is damaged.
        Return the state, and the domains that changed. ResourceNotFound for a revision that is not in the log."""
        then = at_revision(self.log, revision)
        try:
            state = current(self.log, self.path)
        except GovernanceDamaged:
            state = _last(self.log)
            changed = list(domains)
        else:
            changed = [domain for domain in domains if not _is_same(state, then, domain)]
        if not changed:
            return state, []
        after = state.with_policies({domain: then.policy(domain) for domain in changed})
        for domain in changed:
            after = after.with_own(domain, then.own(domain))
        return self._write(after, changed[0] if len(changed) == 1 else "", rolled_back_to=revision), changed

    def _write(self, state: State, domain: str, ids: Sequence[str] = (), **more: object) -> State:
        """Make a state the next revision. `domain`: the one that it changes, "" for both; `more`: details for the log."""
        # A file that was moved away, or restored from a backup, continues from the log's revision.
        revision = max(state.revision, _last(self.log).revision) + 1
        after = replace(state, version=policy_file.VERSION, revision=revision, updated_at=stamp(self.now))
        whole = after.to_json()
        details = {"revision": after.revision, "policies": {name: whole[name] for name in DOMAINS}, "projects": whole["projects"], **more}
        entry = self.log.append(CONFIGURED, domain, ids, details, self.by, self.now, todo={"do": CONFIGURE, "state": whole})
        policy_file.write(self.path, after)
        self.log.done(entry.number)
        return after


def at_revision(log: Log, revision: int) -> State:
    """Return the policies in force at a revision; ResourceNotFound for one that never existed."""
    if type(revision) is not int or revision < 0:
        raise BadRequest(f"a revision is a whole number from 0, not {revision!r:.40}")
    if revision == 0:
        return State()
    for entry in log.entries(action=CONFIGURED):
        if _revision(entry) == revision:
            return _state_of(entry)
    raise ResourceNotFound(f"there is no revision {revision}. `popkit retention admin history` lists the revisions")


def history(log: Log, domain: str | None = None) -> list[dict[str, object]]:
    """Return every revision, newest first: {"revision", "at", "by", "domain" ("" for both), "changed": {key: [before, after]}}, and
    `project` where it is about the policy of only one."""
    rows: list[dict[str, object]] = []
    before = State()
    for entry in reversed(log.entries(action=CONFIGURED)):
        after = _state_of(entry)
        for name in (name for name in ([entry.domain] if entry.domain else DOMAINS) if domain in (None, name)):
            revision = {"revision": _revision(entry), "at": entry.at, "by": entry.by, "domain": name}
            revision.update({key: entry.details[key] for key in ("rolled_back_to",) if key in entry.details})
            own = [key for key in {**before.own(name), **after.own(name)} if before.own(name).get(key) != after.own(name).get(key)]
            if before.policy(name) != after.policy(name) or not own:
                rows.append({**revision, "changed": changes(before.policy(name), after.policy(name))})
            rows += [{**revision, "project": key, "changed": changes(before.policy(name, key), after.policy(name, key))} for key in own]
        before = after
    return rows[::-1]


def changes(before: RetentionPolicy, after: RetentionPolicy) -> dict[str, list[object]]:
    """Return key -> [old value, new value] for all keys that differ."""
    became = after.to_json()
    return {key: [was, became[key]] for key, was in before.to_json().items() if became[key] != was}


def finish(folder: Folder, log: Log, entry: Entry) -> None:
    """Write the state that a killed process has logged, unless the file has it already."""
    wanted = policy_file.state_of((entry.todo or {})["state"])
    try:
        written = policy_file.read(folder.policies).revision >= wanted.revision
    except GovernanceDamaged:
        written = False  # the logged state is whole
    if not written:
        policy_file.write(folder.policies, wanted)
    log.done(entry.number)


def differs(log: Log, path: str) -> str:
    """Return in a sentence how the file differs from the log; "" where they agree."""
    last = next(iter(log.entries(most=1, action=CONFIGURED)), None)
    state, revision = policy_file.read(path), _revision(last) if last else 0
    if state.revision != revision:
        return f"it has revision {state.revision}, and the log's last one is {revision}"
    if last is None:
        return ""  # the defaults, or another program's file
    logged = _state_of(last)
    changed = [domain for domain in DOMAINS if not _is_same(state, logged, domain)]
    if not changed:
        return ""
    return (
        f"the policy of {' and '.join(changed)} is not what was configured: somebody else has changed the file. "
        f"`popkit retention admin rollback {revision}` restores what was configured"
    )


def _is_same(state: State, other: State, domain: str) -> bool:
    return (state.policy(domain), state.own(domain)) == (other.policy(domain), other.own(domain))


def _last(log: Log) -> State:
    """Return the state of the log's last entry; the defaults where there is none."""
    return next((_state_of(entry) for entry in log.entries(most=1, action=CONFIGURED)), State())


def _revision(entry: Entry) -> int:
    revision: Any = entry.details["revision"]
    return int(revision)


def _state_of(entry: Entry) -> State:
    """Return the state that an entry recorded. Entries of an earlier version have no projects' policies."""
    policies: Any = entry.details["policies"]
    projects = policy_file.projects_of(entry.details.get("projects", {}))
    read = {domain: from_json(policies[domain]) for domain in DOMAINS}
    return State(policy_file.VERSION, _revision(entry), stamp(entry.at), **read, projects=projects)


REQUESTED, DECLINED = "requested", "declined"
