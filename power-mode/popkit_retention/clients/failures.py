"""Failures of a provider after which another model may answer."""

from __future__ import annotations

from popkit_retention.core.io.codec import as_object

# Both packages give their errors the same names. Statuses that the packages retry: too slow, a conflict, too many requests; from 500 on
# the provider failed.
_STATUSES = frozenset({408, 409, 429})
_FIRST_OF_THE_PROVIDERS_OWN = 500
_UNREACHABLE = frozenset({"APIConnectionError", "TransportError"})
# The names of failures in an event of a stream, after the status 200.
_TYPES = frozenset({"api_error", "overloaded_error", "rate_limit_error", "timeout_error", "server_error", "rate_limit_exceeded"})


def may_pass_elsewhere(error: BaseException) -> bool:
    """Return whether the model or the connection to it failed, so that another may answer: not where the caller's request is refused (400,
    401, 403, 404, 413, 422), the answer cannot be parsed, or the caller cancelled."""
    if any(cls.__name__ in _UNREACHABLE for cls in type(error).__mro__):
        return True
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:
        return status in _STATUSES or status >= _FIRST_OF_THE_PROVIDERS_OWN
    body = getattr(error, "body", None)
    outer = as_object(body)
    names = [holder.get(name) for holder in (outer, as_object(outer.get("error"))) for name in ("type", "code")]
    return any(name in _TYPES for name in names if isinstance(name, str))
