"""A call of a wrapped client: its settings, its request, the request to the fallback model. Neither package is imported."""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ..context.provider_forms import Provider
from ..context.requests import AnswerUsage, Caller, Notice, Request, tiers_of
from ..context.service import ContextService
from ..usage.budgets import BudgetExceeded
from .known_callers import KnownCallers
from .reported_usage import Form, form_of
from .session_user import made_plain

# The keyword arguments with which a client's `post` is called.
Arguments = dict[str, Any]

_log = logging.getLogger("popkit_retention.context")
# The field in which a call overrides settings (it is not sent, and is passed in the argument `extra_body` that every method has), and in
# which an answer carries the notice for its request.
FIELD = "popkit"
_NO_TEXTS = frozenset({"max_context_tokens", "force_include_tiers"})
# By this header the packages ask for the response itself; "stream" leaves its body to be read by the caller.
_RAW_HEADER, UNREAD = "x-stainless-raw-response", "stream"
# The fields of a request that continues what the provider holds; the paths whose answers later calls name.
_PREVIOUS, _CONVERSATION = "previous_response_id", "conversation"
_NAMED_LATER = frozenset({"/responses", "/batches", "/v1/messages/batches"})


class Setting(NamedTuple):
    """The settings for the calls of a client; a call may override them (`FIELD`)."""

    user_id: str = ""
    session_id: str = ""
    project: str = ""
    agent: str = ""
    fallback_model: str = ""
    max_context_tokens: int | None = None
    force_include_tiers: Sequence[str] = ()

    def changed(self, fields: Mapping[str, Any]) -> Setting:
        """Return the settings with these fields; None means the default. TypeError for an unknown field, which must not be ignored."""
        if not isinstance(fields, dict):
            raise TypeError(f"{FIELD} takes an object with {', '.join(self._fields)}, not {type(fields).__name__}")
        if unknown := sorted(map(str, set(fields) - set(self._fields))):
            raise TypeError(f"{FIELD} takes {', '.join(self._fields)}, not {', '.join(unknown)}")
        return self._replace(**{name: self._field_defaults[name] if value is None else value for name, value in fields.items()}).checked()

    def checked(self) -> Setting:
        """Return the same settings; TypeError for a value of another type, which could not identify a session, ValueError for a number of
        tokens that no request fits in, and for the name of no layer."""
        for name, value in self._asdict().items():
            if name not in _NO_TEXTS and not isinstance(value, str):
                raise TypeError(f"{name} takes a text, not {type(value).__name__}")
        tiers_of(self.force_include_tiers)
        most = self.max_context_tokens
        if most is not None and (not isinstance(most, int) or isinstance(most, bool)):
            raise TypeError(f"max_context_tokens takes a whole number, not {type(most).__name__}")
        if most is not None and most <= 0:
            raise ValueError(f"max_context_tokens takes a number above 0, not {most}")
        return self


class Call:
    """A call. `arguments`: those that the request is sent with. `raw`: "" where the answer itself is asked for, else the kind of its
    response."""

    def __init__(self, form: Form, arguments: Arguments, setting: Setting, service: ContextService, callers: KnownCallers) -> None:
        self.arguments = arguments
        self.service = service
        self._form = form
        self._callers = callers
        self._setting = setting
        self._model = str(self._field("model"))
        self._caller = Caller(*setting[:4])
        self._notice = Notice()
        self.raw = raw_of(arguments)

    @classmethod
    def of(cls, path: str, arguments: Arguments, setting: Setting, service: ContextService, callers: KnownCallers) -> Call | Arguments:
        """Return the call that a client makes by its `post`; its arguments without `FIELD` where nothing is done for it."""
        arguments, fields = without_field(arguments)
        setting = setting.changed(fields)
        form = form_of(path)
        if form is None or not setting.user_id or not isinstance(arguments.get("body"), dict):
            return arguments
        return cls(form, arguments, setting, service, callers)

    def build(self) -> None:
        """Check the limits, and replace the messages by built ones, where this form of a request has a builder. This takes a moment: not
        for an event loop. BudgetExceeded."""
        held = self._held()
        if held or not self._form.builds:
            with self.service.careful("the session of a request could not be told"):
                self._caller = self._caller.within([self._beginning()])
            self._notice = self.service.checked(self._caller)._replace(unbuilt=unbuilt(held) if held else "")
            return
        with self.service.careful("a request could not be read, so it was sent as it is", except_for=BudgetExceeded):
            given, system, tools = [self._made_plain(name) for name in (self._form.messages, self._form.system, "tools")]
            messages = [{"role": "user", "content": given}] if isinstance(given, str) else given
            self._caller = self._caller.within(messages or [self._beginning()])
            if not messages:
                self._notice = self.service.checked(self._caller)
                return
            forced = tiers_of(self._setting.force_include_tiers)
            request = Request(self._form.provider, self._model, messages, system, tools, self._setting.max_context_tokens, forced)
            prepared = self.service.prepare(self._caller, request)
            self._notice = prepared.notice
            if prepared.messages is not None and not (messages is not given and prepared.messages == messages):
                self._put(self._form.messages, prepared.messages)

    def _held(self) -> str:
        """Return the field by which a request continues a conversation that the provider holds, in whose session it is then; "" where it
        carries all of it."""
        if self._form.provider is not Provider.RESPONSES:
            return ""
        held, id = held_by({name: self._made_plain(name) for name in (_PREVIOUS, _CONVERSATION)})
        if held:
            self._caller = self._callers.within(self._caller, id)
        return held

    def _beginning(self) -> dict[str, Any]:
        """Return the message that a request without messages begins with, by which its session is told."""
        text = self._field("prompt") if self._field("input") is None else self._made_plain("input")
        first = text[0] if isinstance(text, list) and text else text
        return first if isinstance(first, dict) else {"role": "user", "content": str(first)}

    def mark(self, answer: Any) -> Any:
        """Put the notice into the field `popkit` of an answer, a stream, its first event or a failure; return it. The caller of one that
        later calls may name is noted."""
        if self._form.path in _NAMED_LATER:
            self._callers.note(getattr(getattr(answer, "response", answer), "id", None), self._caller)
        if self._notice:
            with suppress(AttributeError, TypeError, ValueError):
                begins = getattr(answer, "type", None) == "message_start"  # of a stream of Anthropic's, with the message that it makes
                setattr(answer.message if begins else answer, FIELD, self._notice.as_fields())
        return answer

    def to_fallback(self, error: Exception) -> Arguments:
        """Return the arguments of the same request, to the fallback model."""
        model = self._setting.fallback_model
        _log.warning("PopKit: %s failed (%s), so %s is asked.", self._model, type(error).__name__, model)
        self._put("model", model)
        return self.arguments

    @property
    def has_fallback(self) -> bool:
        return self._form.builds and self._setting.fallback_model not in ("", self._model)

    def read(self, item: Any, before: AnswerUsage | None) -> AnswerUsage | None:
        """Return the tokens used by an answer, or by an event of a stream and those before it. It never fails."""
        return self._form.used(item, before)

    def answered(self, used: AnswerUsage | None) -> None:
        """Record the tokens that the answer used, by the model that was asked last."""
        self.service.answered(self._caller, str(self._field("model")), used)

    def _field(self, name: str) -> Any:
        """Return a field of the body as it will be sent: `extra_body` has the last word."""
        extra = (self.arguments.get("options") or {}).get("extra_json") or {}
        value = extra.get(name, self.arguments["body"].get(name))
        # The packages' marks for an argument that was not given.
        return None if type(value).__name__ in {"Omit", "NotGiven"} else value

    def _made_plain(self, name: str) -> Any:
        """Return a field as plain data, and send that too: an iterator can be read only once."""
        value = made_plain(self._field(name))
        self._put(name, value)
        return value

    def _put(self, name: str, value: Any) -> None:
        """Set a field of the body, in copies of the caller's objects."""
        if value is self._field(name):
            return
        options = self.arguments.get("options") or {}
        if name in (options.get("extra_json") or {}):
            extra = {**options["extra_json"], name: value}
            self.arguments = {**self.arguments, "options": {**options, "extra_json": extra}}
        else:
            self.arguments = {**self.arguments, "body": {**self.arguments["body"], name: value}}


@functools.cache
def unbuilt(held: str) -> str:
    """Return why no context was built, and log it once."""
    why = f"OpenAI holds the history ({held}), so nothing of it can be left out"
    _log.warning("PopKit: %s. Limits are checked, and usage is recorded. This is logged once.", why)
    return why


def held_by(request: Mapping[str, Any]) -> tuple[str, str]:
    """Return the field by which a request of OpenAI's Responses continues what the provider holds, and the id in it; ("", "") where the
    request carries all of the conversation."""
    for name in (_PREVIOUS, _CONVERSATION):
        value = request.get(name)
        id = value.get("id") if isinstance(value, dict) else value
        if isinstance(id, str) and id:
            return name, id
    return "", ""


def raw_of(arguments: Arguments) -> str:
    """Return the kind of the raw response that is asked for; "" where the answer itself is."""
    headers = dict((arguments.get("options") or {}).get("headers") or {})
    return next((str(value) for name, value in headers.items() if str(name).lower() == _RAW_HEADER), "")


def without_field(arguments: Arguments) -> tuple[Arguments, Mapping[str, Any]]:
    options = arguments.get("options") or {}
    extra = options.get("extra_json")
    if not isinstance(extra, dict) or FIELD not in extra:
        return arguments, {}
    rest = {name: value for name, value in extra.items() if name != FIELD}
    options = {name: value for name, value in options.items() if name != "extra_json"}
    fields = extra[FIELD]
    return {**arguments, "options": {**options, "extra_json": rest} if rest else options}, {} if fields is None else fields
