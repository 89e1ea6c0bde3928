"""Entry points for programs: the specification's functions, and the hourly job. Each opens the same controller as the command line and
agents, and closes it after one operation; a program with several operations opens it itself. `environ` says where our folder is.

The hourly job collects each domain whose policy has `auto_gc`, at most once an hour. It asks nobody, and deletes nothing that a placeholder
in a transcript leads to. It also indexes the contents that the archive has queued. Hooks start it when a session ends
(`hooks.utils.state.jobs`), in the child process that learns where there is one.
"""

from __future__ import annotations

import os
import time
import warnings
from typing import cast

from hooks.utils.io import files
from hooks.utils.io.home import popkit_home
from hooks.utils.io.system import now as time_of_day
from hooks.utils.state import collection

from . import GovernanceError, policies, policy_file
from .controller import Controller
from .data_folder import Folder
from .domains import JOB
from .policies import DEFAULT_POLICY, DOMAINS, RAG, from_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .domains.rag import RagDomain
    from .policies import GcParams

    Json = dict[str, object]


def configure_retention_policy(
    domain: str, config: Mapping[str, object], environ: Mapping[str, str] = os.environ, now: Callable[[], float] = time.time
) -> Json:
    """Merge `config` into the policy of a domain: {"success", "domain", "policy", "updated_at", "revision", "adjusted"}. Values out of
    bounds are clamped and listed in `adjusted`; BadPolicy for values that no policy can have."""
    with Controller(environ, now=now) as controller:
        return controller.configure(domain, config)


def get_retention_policy(domain: str, environ: Mapping[str, str] = os.environ) -> Json:
    """Return the policy of a domain. Changing the returned value changes no policy."""
    with Controller(environ) as controller:
        return controller.get(domain)


def apply_retention_rules(
    domain: str,
    resources: Sequence[object] | None,
    options: Mapping[str, object] | None = None,
    environ: Mapping[str, str] = os.environ,
    now: Callable[[], float] = time.time,
) -> Json:
    """Sort resources, as `domains.resource_of` reads them (None: all that is stored), into those that the policy of a domain releases and
    those that it keeps: {"success", "domain", "cutoff_date", "policy_applied", "eligible", "protected", "counts", "truncated", "left_out"}.
    `options` are keys of a policy that hold for this call. Nothing is deleted. BadPolicy for an unknown domain, BadRequest for options that
    are out of bounds."""
    with Controller(environ, now=now) as controller:
        return controller.apply(domain, resources, options)


def resolve_gc_params_with_policy(
    domain: str, raw_args: Mapping[str, object], validated_args: Mapping[str, object], environ: Mapping[str, str] = os.environ
) -> GcParams:
    """Return the parameters of a collection: the arguments of a call, else the values of a domain's policy (see `params`)."""
    with Controller(environ) as controller:
        policy = from_json(controller.get(domain))
    return policies.resolve_gc_params_with_policy(domain, raw_args, validated_args, policy)


def get_retention_policies(environ: Mapping[str, str] = os.environ) -> Json:
    """Return both policies: {"version", "revision", "updated_at", "memory", "rag"}. Deprecated: `get_retention_policy` gives one."""
    warnings.warn("get_retention_policies is deprecated: use get_retention_policy(domain)", DeprecationWarning, stacklevel=2)
    with Controller(environ) as controller:
        return {key: value for key, value in controller.policies().items() if key != "projects"}


def set_retention_policy(domain: str, patch: Mapping[str, object], environ: Mapping[str, str] = os.environ) -> Json:
    """Deprecated: another name of `configure_retention_policy`."""
    warnings.warn("set_retention_policy is deprecated: use configure_retention_policy(domain, config)", DeprecationWarning, stacklevel=2)
    return configure_retention_policy(domain, patch, environ)


__all__ = [
    "DEFAULT_POLICY",
    "apply_retention_rules",
    "configure_retention_policy",
    "get_retention_policies",
    "get_retention_policy",
    "resolve_gc_params_with_policy",
    "set_retention_policy",
]


# --- the hourly job ---

INDEX_S = 60.0  # seconds for the index of one run: the rest waits for the next, or for a search


def collect(environ: Mapping[str, str], now: Callable[[], float] | None = None) -> dict[str, object]:
    """Collect what is due; return `domains`: the outcome of each, as `Controller.gc` returns it; `unindexed`: how many archived contents
    search cannot find yet. A domain that fails does not stop the others: its GovernanceError is raised at the end. `now` returns the time
    (seconds)."""
    now = now or (lambda: time_of_day(environ))
    ours = popkit_home(environ)
    if not collection.is_collection_wanted(ours) or not collection.is_collection_due(ours, now()):
        return {"domains": [], "unindexed": None}
    state = policy_file.read(Folder(ours).policies)
    # At once: a process that starts meanwhile leaves it to us.
    files.replace_text(collection.collection_note_path(ours), collection.collection_note(now()))
    outcomes: list[object] = []
    unindexed: int | None = None
    failed: GovernanceError | None = None
    with Controller(environ, JOB, None, now) as controller:
        for name in DOMAINS:
            if state.collects(name):
                try:
                    collected: list[object] = controller.gc(name, automatic=True)["domains"]  # type: ignore[assignment]  # as its answer has it
                    outcomes += collected
                except GovernanceError as error:
                    failed = error
        try:
            unindexed = cast("RagDomain", controller.domain(RAG)).index(for_s=INDEX_S)
        except GovernanceError as error:
            failed = error
    if failed is not None:
        raise failed
    return {"domains": outcomes, "unindexed": unindexed}
