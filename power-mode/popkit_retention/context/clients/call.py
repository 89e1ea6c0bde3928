"""One call of a wrapped client: what it says to PopKit, the request that goes, the one to the fallback model, and what the answer used."""

from __future__ import annotations

import logging
from typing import NamedTuple

from ..service import Caller, Request
from . import anthropic, openai
from .plain import is_left_out, made_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..service import ContextService, Used
    from .form import Form

    # The keyword arguments with which a client's `post` is called.
    Arguments = dict[str, Any]

_log = logging.getLogger("popkit_retention.context")
# Where a call says what is different for it: a field that goes no further, in the argument `extra_body` that every method has.
FIELD = "popkit"
_FORMS = {form.path: form for form in (anthropic.FORM, openai.FORM)}
# By this header the packages ask for the response itself; "stream" leaves its body to be read by the caller.
_RAW_HEADER, UNREAD = "x-stainless-raw-response", "stream"


class Setting(NamedTuple):
    """What holds for the calls of a client; a call may say otherwise (`FIELD`)."""

    user_id: str = ""
    session_id: str = ""
    project: str = ""
    agent: str = ""
    fallback_model: str = ""
    max_context_tokens: int | None = None

    def changed(self, said: Mapping[str, Any]) -> Setting:
        """TypeError for what is no field: a call that means something by it must not go without."""
        if not isinstance(said, dict):
            raise TypeError(f"{FIELD} takes an object with {', '.join(self._fields)}, not {type(said).__name__}")
        if unknown := sorted(map(str, set(said) - set(self._fields))):
            raise TypeError(f"{FIELD} takes {', '.join(self._fields)}, not {', '.join(unknown)}")
        return self._replace(**{name: self._field_defaults[name] if value is None else value for name, value in said.items()}).checked()

    def checked(self) -> Setting:
        """The same; TypeError for a value of another type, by which no session could be told from others, ValueError for a number of tokens
        that none fit in."""
        for name, value in self._asdict().items():
            if name != "max_context_tokens" and not isinstance(value, str):
                raise TypeError(f"{name} takes a text, not {type(value).__name__}")
        most = self.max_context_tokens
        if most is not None and (not isinstance(most, int) or isinstance(most, bool)):
            raise TypeError(f"max_context_tokens takes a whole number, not {type(most).__name__}")
        if most is not None and most <= 0:
            raise ValueError(f"max_context_tokens takes a number above 0, not {most}")
        return self


class Call:
    """`arguments`: what the request goes with. `raw`: "" where the answer itself is asked for, else how its response is."""

    def __init__(self, form: Form, arguments: Arguments, setting: Setting, service: ContextService) -> None:
        self.arguments = arguments
        self.service = service
        self._form = form
        self._setting = setting
        self._model = str(self._field("model"))
        self._caller = Caller(*setting[:4])
        headers = dict((arguments.get("options") or {}).get("headers") or {})
        self.raw = next((str(value) for name, value in headers.items() if str(name).lower() == _RAW_HEADER), "")

    @classmethod
    def of(cls, path: str, arguments: Arguments, setting: Setting, service: ContextService) -> Call | Arguments:
        """The call that a client makes by its `post`; only its arguments, as they came but for `FIELD`, where it is none of ours."""
        arguments, said = _without_field(arguments)
        setting = setting.changed(said)
        form = _FORMS.get(path.partition("?")[0])
        if form is None or not setting.user_id or not isinstance(arguments.get("body"), dict):
            return arguments
        return cls(form, arguments, setting, service)

    def build(self) -> None:
        """Puts the built messages in the place of the original ones. It takes a moment: not for an event loop."""
        with self.service.careful("a request could not be read, so it was sent as it is"):
            messages, system, tools = [self._made_plain(name) for name in ("messages", "system", "tools")]
            self._caller = self._caller.within(messages)
            request = Request(self._form.provider, self._model, messages, system, tools, self._setting.max_context_tokens)
            built = self.service.build(self._caller, request)
            if built is not None:
                self._put("messages", built)

    def to_fallback(self, error: Exception) -> Arguments:
        """The same request, to the fallback model."""
        model = self._setting.fallback_model
        _log.warning("PopKit: %s failed (%s), so %s is asked.", self._model, type(error).__name__, model)
        self._put("model", model)
        return self.arguments

    @property
    def has_fallback(self) -> bool:
        return self._setting.fallback_model not in ("", self._model)

    def read(self, item: Any, before: Used | None) -> Used | None:
        """What an answer, or an event of a stream, tells of the tokens used. It never fails."""
        return self._form.used(item, before)

    def answered(self, used: Used | None) -> None:
        """Takes down what the answer used, by the model that was asked last."""
        self.service.answered(self._caller, str(self._field("model")), used)

    def _field(self, name: str) -> Any:
        """A field of the body as it will be sent: `extra_body` has the last word."""
        extra = (self.arguments.get("options") or {}).get("extra_json") or {}
        value = extra.get(name, self.arguments["body"].get(name))
        return None if is_left_out(value) else value

    def _made_plain(self, name: str) -> Any:
        """A field as plain data, and what is sent too: an iterator can be read only once."""
        value = made_plain(self._field(name))
        self._put(name, value)
        return value

    def _put(self, name: str, value: Any) -> None:
        """The caller's own objects stay as they are."""
        if value is self._field(name):
            return
        options = self.arguments.get("options") or {}
        if name in (options.get("extra_json") or {}):
            extra = {**options["extra_json"], name: value}
            self.arguments = {**self.arguments, "options": {**options, "extra_json": extra}}
        else:
            self.arguments = {**self.arguments, "body": {**self.arguments["body"], name: value}}


def _without_field(arguments: Arguments) -> tuple[Arguments, Mapping[str, Any]]:
    options = arguments.get("options") or {}
    extra = options.get("extra_json")
    if not isinstance(extra, dict) or FIELD not in extra:
        return arguments, {}
    rest = {name: value for name, value in extra.items() if name != FIELD}
    options = {name: value for name, value in options.items() if name != "extra_json"}
    said = extra[FIELD]
    return {**arguments, "options": {**options, "extra_json": rest} if rest else options}, {} if said is None else said
