"""Which failures of a model another model may not have. Told by names, as both packages share them, so neither is imported."""

from __future__ import annotations

# What the SDK itself tries again: too slow, a conflict, too many requests; from 500 on the provider failed.
_STATUSES = frozenset({408, 409, 429})
_FIRST_OF_THE_PROVIDERS_OWN = 500
_UNREACHABLE = frozenset({"APIConnectionError", "TransportError"})
# How an event of a stream names a failure that came after the status 200.
_TYPES = frozenset({"api_error", "overloaded_error", "rate_limit_error", "timeout_error", "server_error", "rate_limit_exceeded"})


def may_pass_elsewhere(error: BaseException) -> bool:
    """Whether the model or the way to it failed. Not so where the caller's request is refused (400, 401, 403, 404, 413, 422), where the
    answer is not understood, and where the caller gave up."""
    if any(cls.__name__ in _UNREACHABLE for cls in type(error).__mro__):
        return True
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:
        return status in _STATUSES or status >= _FIRST_OF_THE_PROVIDERS_OWN
    return bool(_TYPES & set(_types(getattr(error, "body", None))))


def _types(body: object) -> list[str]:
    if not isinstance(body, dict):
        return []
    inner = body.get("error")
    holders = [body, inner if isinstance(inner, dict) else {}]
    return [said for holder in holders for name in ("type", "code") if isinstance(said := holder.get(name), str)]
