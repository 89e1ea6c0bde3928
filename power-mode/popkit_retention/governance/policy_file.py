"""The file of both policies: read strictly, migrated from the specification's own form, replaced durably."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hooks.utils.archive.content import stamp
from hooks.utils.edges import files

from . import durable, reading
from .errors import BadPolicy, Damaged, GovernanceError, TooNew
from .policies import DEFAULT_POLICY, RetentionPolicy, check_domain, from_json, merged
from .rules import created_at_of

if TYPE_CHECKING:
    from collections.abc import Callable

# The form of the file. The specification's own is 1: it has no revision.
VERSION = 2
_FIELDS = {1: {"version", "updated_at", "memory", "rag"}, 2: {"version", "revision", "updated_at", "memory", "rag"}}
_LARGEST_REVISION = 2**53 - 1


@dataclass(frozen=True)
class State:
    """Both policies, how often they were changed, and when last (ISO 8601, UTC)."""

    version: int = VERSION
    revision: int = 0
    updated_at: str = stamp(0.0)
    memory: RetentionPolicy = DEFAULT_POLICY
    rag: RetentionPolicy = DEFAULT_POLICY

    def policy(self, domain: str) -> RetentionPolicy:
        """The policy of a domain; BadPolicy for any other."""
        policy: RetentionPolicy = getattr(self, check_domain(domain))
        return policy

    def changed(self, domain: str, policy: RetentionPolicy, now: float) -> State:
        """The next state: this domain's policy is another one since `now` (seconds), the other domain's stays."""
        return replace(self, revision=self.revision + 1, updated_at=stamp(now), **{check_domain(domain): policy})  # type: ignore[arg-type]  # the field of a domain

    def to_json(self) -> dict[str, object]:
        """As a JSON object, which `state_of` reads."""
        return {
            "version": self.version,
            "revision": self.revision,
            "updated_at": self.updated_at,
            "memory": self.memory.to_json(),
            "rag": self.rag.to_json(),
        }


def read(path: str) -> State:
    """What is in force: the defaults, revision 0, where there is no file. Damaged for what no version of it can be, TooNew for what a
    later PopKit has written."""
    try:
        data = files.read_bytes(path, reading.LARGEST_BYTES + 1)
    except OSError as error:
        raise Damaged(damaged(path, f"cannot be read ({error.strerror or error})")) from None
    if data is None:
        return State()
    try:
        return state_of(reading.json_of(data))
    except TooNew as error:
        raise TooNew(f"{path} {error}") from None
    except ValueError as error:
        raise Damaged(damaged(path, str(error))) from None


def write(path: str, state: State) -> None:
    """Replaces the file durably, and sweeps what killed writers have left beside it. The caller holds the lock, and has logged what is
    written: where it cannot be, a GovernanceError says so, and it is when somebody next looks."""
    text = json.dumps(state.to_json(), ensure_ascii=False, allow_nan=False, indent=2) + "\n"
    try:
        durable.write(path, text.encode("utf-8"))
    except OSError as error:
        raise GovernanceError(
            f"{path} cannot be written ({error.strerror or error}). What was to be changed is logged: see to that, and the next"
            " `popkit retention` command makes the change"
        ) from None
    durable.sweep(path.rpartition("/")[0])


def state_of(value: object) -> State:
    """A stored state. One of the specification's form is brought up to ours: what it holds beyond the bounds is clamped, as there.
    TooNew; ValueError, which says what is wrong, for anything else."""
    if not isinstance(value, dict):
        raise ValueError("is not an object")
    version = value.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise ValueError("has no version")
    if version > VERSION:
        raise TooNew(f"was written by a later PopKit (version {version}; this one knows {VERSION}). Update PopKit")
    if set(value) != _FIELDS[version]:
        raise ValueError(f"does not have exactly the keys {', '.join(sorted(_FIELDS[version]))}")
    if not isinstance(value["updated_at"], str) or created_at_of({"created_at": value["updated_at"]}) is None:
        raise ValueError("updated_at is not an ISO 8601 time")
    take = from_json if version == VERSION else _clamped
    return State(VERSION, _revision(value), value["updated_at"], _policy("memory", value, take), _policy("rag", value, take))


def _revision(value: dict) -> int:
    revision = value.get("revision", 0)
    if isinstance(revision, bool) or not isinstance(revision, int) or not 0 <= revision <= _LARGEST_REVISION:
        raise ValueError("revision is not a whole number from 0")
    return revision


def _policy(domain: str, value: dict, take: Callable[[object], RetentionPolicy]) -> RetentionPolicy:
    try:
        return take(value[domain])
    except BadPolicy as error:
        raise ValueError(f"{domain}: {error}") from None


def _clamped(value: object) -> RetentionPolicy:
    return merged(DEFAULT_POLICY, value)[0]  # type: ignore[arg-type]  # anything else than an object is a BadPolicy


def damaged(path: str, what: str) -> str:
    """What an error says of the file: what is wrong with it, and what to do."""
    return (
        f"{path} {what}. No policy is in force until it is mended. `popkit retention history` lists the policies that were set, and"
        " `popkit retention rollback REVISION` writes those of a revision anew, those of revision 0 being the defaults"
    )
