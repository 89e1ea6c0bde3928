"""The stub of a call: an input that the tool would still accept, with placeholders in its long fields. Pure.

What leaves is what the call was to write into a file. It has been archived as the whole input of the call.
"""

from __future__ import annotations

from .messages import Use
from .placeholder import handle_in, placeholder, with_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


# Shorter fields stay: a stub would be hardly shorter.
LEAST_STUBBED = 400
_ON_DISK, _FAILED = "its effect is on disk", "the call has failed"


def long_fields(use: Use) -> list[str]:
    """Return the fields of a call that a stub can take the place of, for what they held was to go to disk; [] for none, and once one of
    them has left."""
    fields = [name for name in use.traits.on_disk if isinstance(use.input.get(name), str)]
    if sum(len(use.input[name]) for name in fields) < LEAST_STUBBED or any(handle_in(use.input[name]) for name in fields):
        return []
    return fields


def replaced_fields(use: Use) -> list[str]:
    """Return the long fields whose content the call has replaced, so that no file holds it any more."""
    return [field for field in long_fields(use) if field not in use.traits.written] if use.traits.written else []


def why_stubbed(failed: bool) -> str:
    """Return why an input leaves; `failed`: nothing of it is on disk."""
    return _FAILED if failed else _ON_DISK


def stub(use: Use, handle: str, fields: Sequence[str] | None = None, failed: bool = False) -> dict[str, Any]:
    """Return the input of a call, which may have `failed`, with placeholders in these fields, in all long ones by default. Two fields never
    say the same: each names itself."""
    names = long_fields(use) if fields is None else fields
    return {**use.input, **{name: placeholder(f"{name} of this {use.tool}", why_stubbed(failed), handle) for name in names}}


def stub_with_names(use: Use, names: Sequence[str]) -> dict[str, Any]:
    """Return the input of a stub with names behind its last placeholder."""
    field = [name for name in use.traits.on_disk if handle_in(use.input.get(name))][-1]
    return {**use.input, field: with_names(use.input[field], names)}


def handle_of_stub(use: Use) -> str:
    """Return the handle that a stub names; "" for an input that is none."""
    return next(filter(None, (handle_in(use.input.get(name)) for name in use.traits.on_disk)), "")
