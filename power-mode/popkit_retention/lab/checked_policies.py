"""Hold users' own policies to the interface: a policy that raises or breaks a rule is ended.

A policy shares its arguments with the replay and with the policies that are replayed after it, so it must change none of them: the past
changes only by its answers.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from popkit_retention.core.errors import PopkitError

from .own_policies import error_in_words
from .policy import STANDS, SUMMARISED, Choice, Policy, View
from .recorded import Block, Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.events import Compacted, Event


# The fields of a block and of a request that a policy must leave unchanged; a block that is not a result has no `call`.
_FIELDS: dict[type, tuple[str, ...]] = {
    Block: tuple(name for name in Block.__slots__ if name != "call"), Request: tuple(Request.__slots__),
}  # fmt: skip


class PolicyFailed(PopkitError):
    """A policy raised an error, or broke a rule of the interface; the message names the method and the mistake."""


class CheckedPolicy(Policy):
    """A user's own policy behind the interface of all policies; PolicyFailed where it violates the interface."""

    def __init__(self, make: type[Policy]) -> None:
        self.originals: dict[Block | Request, list[Any]] = {}
        self.make = make
        self.policy: Policy
        self.policy = self._call("__init__", make)
        self.rebuilds = bool(self.policy.rebuilds)

    def _call(self, name: str, method: Any, *arguments: Any) -> Any:
        try:
            return method(*arguments)
        except Exception as error:  # noqa: BLE001  somebody's code
            raise PolicyFailed(f"{name} raised {error_in_words(error, inspect.getsourcefile(self.make) or '')}") from None

    def _note(self, value: Block | Request) -> None:
        self.originals.setdefault(value, [getattr(value, name) for name in _FIELDS[type(value)]])

    def _watched(self, name: str, view: View, *arguments: Any) -> Any:
        """Return the answer of a method that sees the context; PolicyFailed where it changes the context."""
        before, prices = _copy(view), view.prices.to_json()
        answer = self._call(name, getattr(self.policy, name), *arguments)
        changed = [field for field in vars(before) if field != "prices" and getattr(before, field) != getattr(view, field)]
        if view.prices is not before.prices or prices != view.prices.to_json():
            view.prices = before.prices
            for field, value in prices.items():
                setattr(view.prices, field, value)
            changed.append("prices")
        if changed:
            raise PolicyFailed(f"{name} changed the view it was given: {', '.join(changed)}")
        return answer

    def begin(self, cwd: str) -> None:
        self._call("begin", self.policy.begin, cwd)

    def add(self, block: Block) -> None:
        self._note(block)
        self._call("add", self.policy.add, block)

    def enter(self, block: Block) -> str | None:
        text = self._call("enter", self.policy.enter, block)
        if text is None or isinstance(text, str):
            return text
        raise PolicyFailed(f"enter returned {_kind(text)}, not a text or None")

    def event(self, event: Event) -> None:
        self._call("event", self.policy.event, event)

    def at_compaction(self, event: Compacted, view: View) -> str:
        effect = self._watched("at_compaction", view, event, view)
        if effect in (SUMMARISED, STANDS):
            return str(effect)
        raise PolicyFailed(f"at_compaction returned {_kind(effect)}, neither {SUMMARISED} nor {STANDS}")

    def compact(self, event: Event) -> None:
        self._call("compact", self.policy.compact, event)

    def cut(self, context: list[Block]) -> None:
        self._call("cut", self.policy.cut, list(context))

    def decide(self, view: View) -> list[Choice]:
        choices = self._watched("decide", view, view)
        if not isinstance(choices, list):
            raise PolicyFailed(f"decide returned {_kind(choices)}, not a list")
        there, chosen = set(view.context), set()
        for choice in choices:
            block = _block_of(choice)
            if block not in there:
                raise PolicyFailed("decide clears a block outside of the context")
            if not block.id and not block.asks:
                raise PolicyFailed("decide clears a block that is neither a result nor a call: a text of the user's, an answer or thinking")
            if block in chosen:
                raise PolicyFailed("decide clears a result twice at once")
            chosen.add(block)
        return choices

    def missed(self, block: Block) -> None:
        self._call("missed", self.policy.missed, block)

    def answered(self, request: Request) -> None:
        self._note(request)
        self._call("answered", self.policy.answered, request)

    def end(self) -> None:
        """Restore the arguments that the policy changed; PolicyFailed where it changed any."""
        changed = set()
        for watched, values in self.originals.items():
            for name, value in zip(_FIELDS[type(watched)], values):
                if getattr(watched, name) != value:
                    setattr(watched, name, value)
                    changed.add(f"{type(watched).__name__}.{name}")
        if changed:
            raise PolicyFailed(f"it changed its arguments: {', '.join(sorted(changed))}")


def _copy(view: View) -> View:
    return replace(
        view, context=view.context[:], sizes=view.sizes[:], cleared=dict(view.cleared), entered=dict(view.entered), lost=set(view.lost),
        ends=view.ends[:],
    )  # fmt: skip


def _block_of(choice: object) -> Block:
    """Return the block of a choice; PolicyFailed for any other value."""
    if isinstance(choice, tuple) and len(choice) == 3:
        block, text, reasons = choice
        if (
            isinstance(block, Block)
            and isinstance(text, str)
            and isinstance(reasons, list)
            and all(isinstance(reason, str) for reason in reasons)
        ):
            return block
    raise PolicyFailed("decide returned something other than a list of (block, text in its place, list of reasons)")


def _kind(value: object) -> str:
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
