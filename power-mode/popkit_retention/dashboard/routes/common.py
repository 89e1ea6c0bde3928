"""What the routes share: how failures are described, and ids in paths."""

from typing import Annotated, Any

from fastapi import Path
from pydantic import BeforeValidator

from ..shapes import Failure

_SAID = {
    400: "A parameter or the body is not as it should be.",
    401: "The access token is missing or from an earlier start.",
    403: "Another host or page has asked, or a change came without the second token.",
    404: "Nothing of that name is there.",
    405: "The address is right, the method is not.",
    409: "It is not offered, or not any more.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    500: "It failed; the hook log has why.",
    503: "What it would be told from cannot be used now.",
}
# Stands in a path for a slash that was written %2F: it is part of an id, not an end of it. No id of ours can hold this character.
WITHIN = "\0"
Id = Annotated[
    str,
    BeforeValidator(lambda given: given.replace(WITHIN, "/")),
    Path(min_length=1, max_length=400, description="A session's id, whole"),
]
ASKING = (400, 401, 403, 404, 405, 500)
CHANGING = (400, 401, 403, 404, 405, 409, 413, 415, 500)


def failures(*statuses: int) -> dict[Any, dict[str, Any]]:
    """The failures of a route, as OpenAPI has them."""
    return {status: {"model": Failure, "description": _SAID[status]} for status in statuses}
