"""What the providers' requests and answers differ in."""

from __future__ import annotations

from typing import NamedTuple

from ..models import Provider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..service import Used


class Form(NamedTuple):
    """`path`: where requests with messages go; others are not ours. `used(item, before)`: the tokens used as an answer tells them, or an
    event of a stream, with what the events before it told (`before`)."""

    provider: Provider
    path: str
    used: Callable[[Any, Used | None], Used | None]


def id_of(answer: object) -> str:
    """By which the provider knows an answer; "" where it does not say."""
    value = getattr(answer, "id", None)
    return value if isinstance(value, str) else ""


def count(holder: object, name: str) -> int:
    """A count of tokens in an answer; 0 where it is not told."""
    value = getattr(holder, name, None)
    return value if isinstance(value, int) and value > 0 else 0
