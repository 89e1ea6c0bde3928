"""The file of the policies: read strictly, migrated from the specification's format, replaced durably."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

from popkit_retention.core.archive.content import stamp
from popkit_retention.core.io import durable, files

from .domains.rules import created_at_of
from .errors import BadPolicy, GovernanceDamaged, GovernanceError, GovernanceTooNew
from .policies import DEFAULT_POLICY, DOMAINS, LONGEST_ID, RetentionPolicy, check_domain, from_json, merged
from .project_policies import OwnPolicy, own_of
from .strict_json import LARGEST_BYTES, json_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


# The form of the file. The specification's own is 1: it has no revision. 2 has no policies of projects.
VERSION = 3
_FIELDS = {1: {"version", "updated_at", "memory", "rag"}}
_FIELDS[2] = {*_FIELDS[1], "revision"}
_FIELDS[3] = {*_FIELDS[2], "projects"}
_LARGEST_REVISION = 2**53 - 1


@dataclass(frozen=True)
class State:
    """Both policies, how often they were changed, and when last (ISO 8601, UTC). `projects`: domain -> a project's key -> the differences
    of its policy."""

    version: int = VERSION
    revision: int = 0
    updated_at: str = stamp(0.0)
    memory: RetentionPolicy = DEFAULT_POLICY
    rag: RetentionPolicy = DEFAULT_POLICY
    projects: Mapping[str, Mapping[str, OwnPolicy]] = field(default_factory=dict)

    def policy(self, domain: str, project: str | None = None) -> RetentionPolicy:
        """Return the policy of a domain, as it applies in a project (None: the user's); BadPolicy for any other."""
        policy: RetentionPolicy = getattr(self, check_domain(domain))
        own = None if project is None else self.own(domain).get(project)
        return policy if own is None else own.over(policy)

    def own(self, domain: str) -> Mapping[str, OwnPolicy]:
        """Return a domain's projects with a policy of their own, by their keys."""
        return self.projects.get(domain, {})

    def with_policies(self, policies: Mapping[str, RetentionPolicy]) -> State:
        """Return the same with these policies of domains."""
        return replace(self, **{check_domain(domain): policy for domain, policy in policies.items()})  # type: ignore[arg-type]  # domains' fields

    def with_own(self, domain: str, own: Mapping[str, OwnPolicy]) -> State:
        """Return the same with these projects' own policies in a domain."""
        present = {name: self.own(name) for name in DOMAINS if self.own(name)}
        return replace(self, projects={name: policies for name, policies in {**present, domain: own}.items() if policies})

    def collects(self, domain: str) -> bool:
        """Return whether the hourly job has anything to collect in a domain."""
        return any(self.policy(domain, project).auto_gc for project in (None, *self.own(domain)))

    def to_json(self) -> dict[str, object]:
        """Return it as a JSON object, which `state_of` reads."""
        return {
            "version": self.version,
            "revision": self.revision,
            "updated_at": self.updated_at,
            "memory": self.memory.to_json(),
            "rag": self.rag.to_json(),
            "projects": {domain: {key: each.to_json() for key, each in own.items()} for domain, own in self.projects.items()},
        }


def read(path: str) -> State:
    """Return the policies in force: the defaults, revision 0, where there is no file. Damaged for a file that no version can have written,
    GovernanceTooNew for one of a later PopKit."""
    try:
        data = files.read_bytes(path, LARGEST_BYTES + 1)
    except OSError as error:
        raise GovernanceDamaged(damaged(path, f"cannot be read ({error.strerror or error})")) from None
    if data is None:
        return State()
    try:
        return state_of(json_of(data))
    except GovernanceTooNew as error:
        raise GovernanceTooNew(f"{path} {error}") from None
    except ValueError as error:
        raise GovernanceDamaged(damaged(path, str(error))) from None


def write(path: str, state: State) -> None:
    """Replace the file durably, and remove what killed writers have left beside it. The caller holds the lock, and has logged the state:
    where it cannot be written, a GovernanceError says so, and the next command writes it."""
    try:
        durable.write_durably(path, bytes_of(state))
    except OSError as error:
        raise GovernanceError(
            f"{path} cannot be written ({error.strerror or error}). The change is logged: fix that, and the next"
            " `popkit retention` command makes it"
        ) from None
    durable.sweep_temporary(path.rpartition("/")[0])


def bytes_of(state: State) -> bytes:
    """Return a state as the bytes of the file."""
    return (json.dumps(state.to_json(), ensure_ascii=False, allow_nan=False, indent=2) + "\n").encode("utf-8")


def state_of(value: object) -> State:
    """Return a stored state. Migrate one of the specification's form to ours: values out of bounds are clamped, as there. TooNew;
    ValueError, which says what is wrong, for anything else."""
    if not isinstance(value, dict):
        raise ValueError("is not an object")
    version = value.get("version")
    if type(version) is not int or version < 1:
        raise ValueError("has no version")
    if version > VERSION:
        raise GovernanceTooNew(f"was written by a later PopKit (version {version}; this one knows {VERSION}). Update PopKit")
    if set(value) != _FIELDS[version]:
        raise ValueError(f"does not have exactly the keys {', '.join(sorted(_FIELDS[version]))}")
    if not isinstance(value["updated_at"], str) or created_at_of({"created_at": value["updated_at"]}) is None:
        raise ValueError("updated_at is not an ISO 8601 time")
    take = _clamped if version == 1 else from_json
    policies = _policy("memory", value, take), _policy("rag", value, take)
    return State(VERSION, _revision(value), value["updated_at"], *policies, projects_of(value.get("projects", {})))


def projects_of(value: object) -> dict[str, dict[str, OwnPolicy]]:
    """Return the stored policies of projects; ValueError, which says what is wrong, for anything else."""
    if not isinstance(value, dict) or not all(domain in DOMAINS and isinstance(own, dict) and own for domain, own in value.items()):
        raise ValueError("projects is not an object of domains")
    if not all(0 < len(key) <= LONGEST_ID and key.isprintable() for own in value.values() for key in own):
        raise ValueError("projects has a key that no project has")
    try:
        return {domain: {key: own_of(each) for key, each in own.items()} for domain, own in value.items()}
    except BadPolicy as error:
        raise ValueError(f"projects: {error}") from None


def _revision(value: dict) -> int:
    revision = value.get("revision", 0)
    if type(revision) is not int or not 0 <= revision <= _LARGEST_REVISION:
        raise ValueError("revision is not a whole number from 0")
    return revision


def _policy(domain: str, value: dict, take: Callable[[object], RetentionPolicy]) -> RetentionPolicy:
    try:
        return take(value[domain])
    except BadPolicy as error:
        raise ValueError(f"{domain}: {error}") from None


def _clamped(value: object) -> RetentionPolicy:
    return merged(DEFAULT_POLICY, value)[0]  # type: ignore[arg-type]  # anything else than an object is a BadPolicy


def damaged(path: str, fault: str) -> str:
    """Return the message for a damaged file: the fault, followed by the remedy."""
    return (
        f"{path} {fault}. No policy is in force until it is fixed. `popkit retention admin history` lists the revisions, and"
        " `popkit retention admin rollback REVISION` restores one; revision 0 has the defaults"
    )
