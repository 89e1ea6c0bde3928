"""The error responses of routes, as the OpenAPI document has them."""

from __future__ import annotations

from typing import Any

from .shapes import Failure

_DESCRIPTIONS = {
    400: "A parameter or the body is not valid.",
    401: "The access token is missing or from an earlier start.",
    403: "The request came from another host or page, or a change came without the second token.",
    404: "There is nothing by that name.",
    405: "The address is right, the method is not.",
    409: "It is not offered, or no longer offered.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    500: "It failed; the hook log says why.",
    503: "A store that the answer needs cannot be used now.",
}
REFERENCES = "#/components/schemas/{model}"
ASKING = (400, 401, 403, 404, 405, 500)
CHANGING = (400, 401, 403, 404, 405, 409, 413, 415, 500)


def failures(*statuses: int) -> dict[Any, dict[str, object]]:
    """Return the error responses of a route, for OpenAPI. As a model, each would get a validator of its own: a slower start."""
    content = {"application/json": {"schema": {"$ref": REFERENCES.format(model=Failure.__name__)}}}
    return {status: {"content": content, "description": _DESCRIPTIONS[status]} for status in statuses}
