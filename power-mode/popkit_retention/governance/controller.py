"""The controller, which the command line, agents' tools, the dashboard and the hourly job call."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial

from popkit_retention.core.archive.content import stamp

from . import agent_requests, answers, archives, manifests, restores, revisions
from .collection import Collector, carry_out, plan, undo
from .domains import TOOL, USER
from .domains.rules import apply_rules, resource_of
from .errors import BadRequest, GovernanceError, ResourceNotFound
from .explanation import explain
from .holds import add_hold, find_hold, release_hold
from .policies import DOMAINS, check_domain
from .resource_ids import find_id
from .status import status
from .workspace import Workspace, names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .log import Log
    from .shapes import (
        AppliedAnswer,
        ArchiveAnswer,
        ArchivesAnswer,
        ArchiveSummary,
        CollectionAnswer,
        CollectionPart,
        ExplanationAnswer,
        HoldAnswer,
        HoldsAnswer,
        Json,
        ListedHold,
        LogAnswer,
        PendingRequest,
        ProblemAnswer,
        RequestAnswer,
        RequestsAnswer,
        ResourceName,
        RestoreAnswer,
        StatusAnswer,
        UndoAnswer,
        UnsetAnswer,
        VerificationAnswer,
    )
    from .workspace import Part

    Progress = Callable[[str, int, int], object]

APPLIED = "applied"


def _silent(activity: str, done: int, of: int) -> None:
    """Ignore progress."""


class Controller(Workspace):
    """The operations of governance, one method each; see `Workspace` for its parameters. All answers are JSON objects."""

    def configure(self, domain: str, config: Mapping[str, object], expect: int | None = None) -> Json:
        """Merge `config` into the policy of a domain. `expect`: the revision that the caller has seen. A tool's change that does not only
        keep more changes nothing, and waits for the user's approval: `success` is false, `request` its id."""
        check_domain(domain)
        with self.changing() as log:
            request: agent_requests.Request | None = None
            if self.by == TOOL:
                state, adjusted, request = agent_requests.configure_for_agent(self._policies(log), domain, self.project, config)
            else:
                state, adjusted = self._policies(log).configure(domain, config, expect)
        return {
            "success": request is None,
            "domain": domain,
            "policy": state.policy(domain, self.project).to_json(),
            "updated_at": state.updated_at,
            "revision": state.revision,
            "adjusted": [change._asdict() for change in adjusted],
            **({} if request is None else {"request": request.id, "asked": dict(request.config)}),
        }

    def accept(self, id: str) -> Json:
        """Accept a request: it is now in force, only in the project that it came from."""
        with self._deciding() as log:
            request = agent_requests.find_request(log, id)
            before = revisions.current(log, self.folder.policies).policy(request.domain, request.project)
            state, _ = self._policies(log).configure_project(request.domain, request.project, request.config, id)
        after = state.policy(request.domain, request.project)
        return {**answers.request(request), "changed": revisions.changes(before, after), "revision": state.revision}

    def decline(self, id: str) -> RequestAnswer:
        """Decline a request; return it."""
        with self._deciding() as log:
            request = agent_requests.find_request(log, id)
            agent_requests.decline_request(log, request, self.by, self.now())
        return answers.request(request)

    def unset(self, project: str, domain: str | None = None) -> UnsetAnswer:
        """End the policies that a project (its key) has of its own, so that the user's apply there again. ResourceNotFound where it has
        none."""
        with self._deciding() as log:
            state = revisions.current(log, self.folder.policies)
            ended = [name for name in names(domain) if project in state.own(name)] or list(names(domain))
            for name in ended:
                state = self._policies(log).unset(name, project)
        return {"project": project, "domains": ended, "revision": state.revision}

    def _policies(self, log: Log) -> revisions.Policies:
        return revisions.Policies(log, self.folder.policies, self.by, self.now())

    @contextmanager
    def _deciding(self) -> Iterator[Log]:
        """Open the log for a decision that only the user may make. BadRequest for anybody else."""
        if self.by != USER:
            raise BadRequest("only the user can decide this")
        with self.changing() as log:
            yield log

    def requests(self) -> RequestsAnswer:
        """Return agents' pending requests, oldest first, each with the policy in force (`now`)."""
        state, log = self.state(), self.read()
        requests: list[PendingRequest] = []
        for request in agent_requests.pending_requests(log):
            policy = state.policy(request.domain, request.project).to_json()
            requests.append({**answers.request(request), "now": {key: policy[key] for key in request.config}})
        return {"requests": requests}

    def get(self, domain: str, project: str | None = None) -> Json:
        """Return the policy of a domain, as it applies in a project (None: in ours, if there is one)."""
        return self.state().policy(check_domain(domain), project or self.project).to_json()

    def policies(self) -> Json:
        """Return both policies, with the version of their form, their revision, and when they were changed (1970 for never); and those of
        `projects`, unless the controller is of one project."""
        state = self.state()
        if self.project is None:
            return state.to_json()
        values = {**state.to_json(), **{domain: state.policy(domain, self.project).to_json() for domain in DOMAINS}}
        return {key: value for key, value in values.items() if key != "projects"}

    def history(self, domain: str | None = None) -> Json:
        """Return every revision, newest first."""
        entries = revisions.history(self.read(), None if domain is None else check_domain(domain))
        return {"versions": [{**entry, "at": stamp(float(str(entry["at"])))} for entry in entries]}

    def rollback(self, revision: int, domain: str | None = None) -> Json:
        """Make an earlier revision the present one, of one domain or of both."""
        with self.changing() as log:
            state, changed = self._policies(log).rollback(revision, names(domain))
        return {"success": True, "revision": state.revision, "domains": changed, **{name: state.policy(name).to_json() for name in changed}}

    def apply(
        self, domain: str, resources: Sequence[object] | None = None, options: Mapping[str, object] | None = None, dry_run: bool = False
    ) -> AppliedAnswer:
        """Return the verdicts of the policy, with these options, on resources: on those that a caller describes, else on the stored
        ones; the latter is logged, unless it is a `dry_run`. `own` has the same for projects with a policy of their own. Delete and mark
        nothing."""
        now = self.now()
        if resources is not None:
            if not isinstance(resources, (list, tuple)):
                raise BadRequest(f"resources must be a list, not {type(resources).__name__}")
            return answers.applied(domain, apply_rules(self.params(domain, options), map(resource_of, resources), now))
        answers_of_parts: list[AppliedAnswer] = []
        for part in self.parts(check_domain(domain)):
            params = self.params(domain, options, part.project)
            result = apply_rules(params, self.domain(domain).resources(now, part.project, without=part.without), now)
            answers_of_parts.append({**answers.applied(domain, result), **part.named})
            if not dry_run:
                details = {"counts": answers.counts(result), "policy": answers.policy(params)}
                with self.changing() as log:
                    log.append(APPLIED, domain, [], {**details, **part.named}, self.by, now)
        first, *own = answers_of_parts
        if own:
            first["own"] = own
        return first

    def status(self, domain: str | None = None) -> StatusAnswer:
        """Return the status of the domains: see `status`."""
        parts = [(self.domain(name), part) for name in names(domain) for part in self.parts(name)]
        pending = [request for request in agent_requests.pending_requests(self.read()) if domain in (None, request.domain)]
        report = status(self.state(), parts, self.folder, self.now())
        return {**report, "requests": [answers.request(request) for request in pending]}

    def by_domain(self, ids: Sequence[str], domain: str | None) -> dict[str, list[str]]:
        """Return the ids that words mean, by domain; every selected domain where there are no words."""
        domains = [self.domain(name) for name in names(domain)]
        ids_by_domain: dict[str, list[str]] = {} if ids else {store.name: [] for store in domains}
        for word in ids:
            holder, id = find_id(domains, word, self.project)
            ids_by_domain.setdefault(holder.name, []).append(id)
        return ids_by_domain

    def describe(self, domain: str, ids: Sequence[str]) -> dict[str, Json]:
        """Return id -> its description for people."""
        return {id: asdict(description) for id, description in self.domain(domain).describe(ids).items()}

    def explain(self, id: str, domain: str | None = None) -> ExplanationAnswer:
        """Return the explanation of one id: the rules that apply, since when, and the next change."""
        try:
            holder, whole = find_id([self.domain(name) for name in names(domain)], id, self.project)
        except ResourceNotFound:
            if not self.read().entries(1, domain, id=id):
                raise
            message = f"{id} is no longer stored. `popkit retention admin log --id {id}` shows what was done with it"
            raise ResourceNotFound(message) from None
        described = holder.describe([whole]).get(whole)
        policy = self.state().policy(holder.name, described.project if described else None)
        return explain(holder, whole, policy, self.now()).to_json()

    def log(self, most: int | None = 50, domain: str | None = None, action: str | None = None, id: str | None = None) -> LogAnswer:
        """Return the newest entries of the log, newest first; of a domain, an action, an id."""
        return {"entries": [answers.entry(entry) for entry in self.read().entries(most, domain, action, id)]}

    def verify(self, read_data: bool = False, progress: Progress = _silent) -> VerificationAnswer:
        """Return whether policies, log and archives are as they were written; with `read_data`, check every byte in archives."""
        log = self.opened()
        problems: list[ProblemAnswer] = [{"where": "log", "what": problem} for problem in log.verify()]
        broken = bool(problems)
        try:
            differs = revisions.differs(self.read(), self.folder.policies) if not problems else ""
        except GovernanceError as error:
            differs = str(error)
        if differs:
            problems.append({"where": "policies", "what": differs})
        if not problems:
            problems += [
                {"where": problem.where, "what": problem.what} for problem in restores.verify(self.folder, log, read_data, progress)
            ]
        return {
            "ok": not problems,
            "problems": problems,
            "log_entries": 0 if broken else log.count(),
            "archives": len(archives.summaries(self.folder)),
            "unfinished": 0 if broken else len(log.unfinished()),
        }

    def add_hold(self, domain: str, scope: str, target: str, who: str, why: str, until: float | None = None) -> HoldAnswer:
        """Hold an item, or the data of a session or a project, until a time (seconds) or until it is released."""
        held = self.domain(check_domain(domain))
        with self.changing() as log:
            hold = add_hold(log, held, scope, target, who, why, until, self.by, self.now(), self.project)
        return answers.hold(domain, hold)

    def holds(self, domain: str | None = None, everything: bool = False) -> HoldsAnswer:
        """Return the holds that are in force, oldest first; with `everything`, ended ones too."""
        now = self.now()
        rows: list[ListedHold] = []
        for name in names(domain):
            rows += [{**answers.hold(name, hold), "in_force": hold.in_force(now)} for hold in self.domain(name).holds()]
        return {"holds": [row for row in rows if everything or row["in_force"]]}

    def release_hold(self, id: str) -> HoldAnswer:
        """End a hold; ResourceNotFound where none of that id is in force."""
        now = self.now()
        with self.changing() as log:
            domain, hold = find_hold([self.domain(name) for name in DOMAINS], id, now)
            return answers.hold(domain.name, release_hold(log, domain, hold, self.by, now))

    def gc(
        self, domain: str | None = None, options: Mapping[str, object] | None = None, dry_run: bool = False, placeholders: bool = False,
        progress: Progress = _silent, automatic: bool = False,
    ) -> CollectionAnswer:  # fmt: skip
        """Mark resources that the policy, with these options, releases, and delete those that were marked a day ago and still are. Content
        with a placeholder in a transcript is kept, unless `placeholders` insists. A `dry_run` only reports what would be done. Projects
        with a policy of their own are collected one by one; `automatic`: only data whose policy has `auto_gc`."""
        if not dry_run:
            with self.changing() as log:
                archives.sweep(self.folder, log)  # copies of data that may be about to be deleted
        reports: list[CollectionPart] = []
        for name, part in [(domain_name, part) for domain_name in names(domain) for part in self.parts(domain_name)]:
            if automatic and not part.policy.auto_gc:
                continue
            job = Collector(
                self.changing, self.domain(name), partial(self.params, name, options, part.project), self.now(), self.by, part.project,
                placeholders, progress, without=partial(self._ruled_by_others, name, part),
            )  # fmt: skip
            planned = plan(job, part.policy)
            described = job.domain.describe([verdict.id for verdict in (*planned.marks, *planned.deletes, *planned.waiting)])
            done = planned if dry_run else carry_out(job, planned)
            reports.append({**answers.collection(name, done, described), **part.named})
            if not dry_run:
                self.publish_marks(job.domain)
        return {"domains": reports, "dry_run": dry_run}

    def _ruled_by_others(self, domain: str, part: Part) -> frozenset[str]:
        """Return the projects that another policy now rules."""
        return frozenset(self.state().own(domain)) if part.project is None else frozenset()

    def undo(self, ids: Sequence[str] = (), domain: str | None = None) -> UndoAnswer:
        """Take marks back: of these ids, else all. ResourceNotFound where nothing is marked."""
        unmarked: list[ResourceName] = []
        for name, wanted in self.by_domain(ids, domain).items():
            done = undo(self.changing, self.domain(name), wanted, self.now(), self.by, self.project)
            unmarked += [{"domain": name, "id": id} for id in done]
            self.publish_marks(self.domain(name))
        if not unmarked:
            what = "none of these" if ids else "nothing"
            message = f"{what} is marked by a retention policy. `popkit memory undo` takes other marks back"
            raise ResourceNotFound(message)
        return {"unmarked": unmarked}

    def archive(
        self,
        domain: str,
        ids: Sequence[str] | None = None,
        note: str = "",
        progress: Progress = _silent,
        options: Mapping[str, object] | None = None,
    ) -> ArchiveAnswer:
        """Copy resources into a new archive: these, else those that the policy releases; with `options`, keys of a policy that hold for
        this call, those of them that the policy releases then. Delete nothing."""
        check_domain(domain)
        chosen = None if ids is None else self.by_domain(ids, domain)[domain]
        if chosen is None or options:
            released = self._released(domain, options)
            chosen = [id for id in chosen if id in released] if chosen is not None else list(released)
        if not chosen:
            raise ResourceNotFound(
                "there is nothing to archive: no id was given" if ids is not None and not options else "the policy releases nothing"
            )
        policy = self.state().policy(domain, self.project)
        archived = archives.archive(
            self.folder, self.changing, self.domain(domain), chosen, policy, self.now(), self.by, note, progress
        )  # fmt: skip
        return {
            "success": True,
            "archive_id": archived.archive_id,
            "manifest_path": os.path.join(manifests.place(self.folder, archived.archive_id), manifests.MANIFEST),
            "resource_count": archived.resource_count,
            "total_size_bytes": archived.total_size_bytes,
        }

    def _released(self, domain: str, options: Mapping[str, object] | None) -> dict[str, None]:
        """Return the ids of the stored resources that the policies release, with these options, in their order."""
        now, stored = self.now(), self.domain(domain).resources
        parts = [(self.params(domain, options, part.project), part) for part in self.parts(domain)]
        verdicts = (apply_rules(params, stored(now, part.project, without=part.without), now) for params, part in parts)
        return dict.fromkeys(resource.id for verdict in verdicts for resource in verdict.eligible)

    def archives(self) -> ArchivesAnswer:
        """Return all archives, newest first."""
        self.read()
        return {"archives": archives.summaries(self.folder)}

    def restore(self, archive_id: str, sound_only: bool = False, progress: Progress = _silent) -> RestoreAnswer:
        """Restore the contents of an archive. GovernanceDamaged where it is not as it was written, unless `sound_only` asks for the
        rest."""
        self.read()
        domain = self.domain(manifests.read(self.folder, archive_id).domain)
        done = restores.restore(self.folder, self.changing, domain, archive_id, self.now(), self.by, sound_only, progress)
        return {
            "archive_id": done.archive_id,
            "domain": done.domain,
            "restored": done.restored,
            "already": done.already,
            "damaged": done.damaged,
        }

    def remove(self, archive_id: str) -> ArchiveSummary:
        """Delete an archive for good; return its summary. ResourceOnHold while a hold could be about its contents."""
        domain = self.domain(manifests.domain_of(archive_id))
        with self.changing() as log:
            return archives.remove(self.folder, domain, log, archive_id, self.now(), self.by)
