"""Entry points for programs: the specification's functions. Each opens the same controller as the command line and agents, and closes it
after one operation; a program with several operations opens it itself. `environ` says where our folder is."""

from __future__ import annotations

import os
import time
import warnings

from . import gc_parameters
from .controller import Controller
from .policies import DEFAULT_POLICY, from_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .gc_parameters import GcParams

    Json = dict[str, object]


def configure_retention_policy(
    domain: str, config: Mapping[str, object], environ: Mapping[str, str] | None = None, now: Callable[[], float] = time.time
) -> Json:
    """Merge `config` into the policy of a domain: {"success", "domain", "policy", "updated_at", "revision", "adjusted"}. Values out of
    bounds are clamped and listed in `adjusted`; BadPolicy for values that no policy can have."""
    environ = os.environ if environ is None else environ
    with Controller(environ, now=now) as controller:
        return controller.configure(domain, config)


def get_retention_policy(domain: str, environ: Mapping[str, str] | None = None) -> Json:
    """Return the policy of a domain. Changing the returned value changes no policy."""
    environ = os.environ if environ is None else environ
    with Controller(environ) as controller:
        return controller.get(domain)


def apply_retention_rules(
    domain: str,
    resources: Sequence[object] | None,
    options: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    now: Callable[[], float] = time.time,
) -> Json:
    """Sort resources, as `resource_of` reads them (None: all that is stored), into those that the policy of a domain releases and those
    that it keeps: {"success", "domain", "cutoff_date", "policy_applied", "eligible", "protected", "counts", "truncated", "left_out"}.
    `options` are keys of a policy that hold for this call. Nothing is deleted. BadPolicy for an unknown domain, BadRequest for options that
    are out of bounds."""
    environ = os.environ if environ is None else environ
    with Controller(environ, now=now) as controller:
        return {**controller.apply(domain, resources, options)}


def resolve_gc_params_with_policy(
    domain: str, raw_args: Mapping[str, object], validated_args: Mapping[str, object], environ: Mapping[str, str] | None = None
) -> GcParams:
    """Return the parameters of a collection: the arguments of a call, else the values of a domain's policy (see `params`)."""
    environ = os.environ if environ is None else environ
    with Controller(environ) as controller:
        policy = from_json(controller.get(domain))
    return gc_parameters.resolve_gc_params_with_policy(domain, raw_args, validated_args, policy)


def get_retention_policies(environ: Mapping[str, str] | None = None) -> Json:
    """Return both policies: {"version", "revision", "updated_at", "memory", "rag"}. Deprecated: `get_retention_policy` gives one."""
    environ = os.environ if environ is None else environ
    warnings.warn("get_retention_policies is deprecated: use get_retention_policy(domain)", DeprecationWarning, stacklevel=2)
    with Controller(environ) as controller:
        return {key: value for key, value in controller.policies().items() if key != "projects"}


def set_retention_policy(domain: str, patch: Mapping[str, object], environ: Mapping[str, str] | None = None) -> Json:
    """Deprecated: another name of `configure_retention_policy`."""
    environ = os.environ if environ is None else environ
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
