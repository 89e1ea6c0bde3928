"""Users' own policies: finds one by its name (`module:Class`, or `path/to/file.py:Class`), and ends it where it raises or does what no
policy may.

A worker process receives only the name, so each looks it up again. A policy is the user's own code and runs as such; its output goes to
standard error.

A policy shares its arguments with the replay and with the policies that are replayed after it, so it must change none of them: the past
changes only by its answers.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple

from .policy import STANDS, SUMMARISED, Block, Choice, Policy, Request, View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hooks.utils.policy.events import Compacted, Event

_SUFFIX = ".py"
_METHODS = [name for name, value in vars(Policy).items() if inspect.isfunction(value)]


class Unusable(Exception):
    """The policy does not exist or cannot be used; the message says why and what to do."""


class Loaded(NamedTuple):
    """A user's own policy: its class, its description in a line, and the first half of its file's SHA-256, "" where it has none."""

    make: type[Policy]
    described: str
    digest: str


def is_own(name: str) -> bool:
    """Return whether a name has the form of a user's own policy."""
    return ":" in name


def shown(name: str) -> str:
    """Return a name as people compare it: a file without its folder."""
    return os.path.basename(name) if is_own(name) else name


@lru_cache(maxsize=64)
def load(name: str) -> Loaded:
    """Return the policy of that name; Unusable."""
    where, _, called = name.rpartition(":")
    if not where or not called.isidentifier():
        raise Unusable(f"{name} is not the name of a policy. Write module:Class, or path/to/file.py:Class")
    with printing_to_stderr():
        module = _file(where) if where.endswith(_SUFFIX) or os.sep in where else _module(where)
    make = getattr(module, called, None)
    if make is None:
        raise Unusable(f"{where} has no {called}.{_instead(module)}")
    _check(make, called, where)
    described = (inspect.getdoc(make) or "").partition("\n")[0] if make.__doc__ else ""
    return Loaded(make, described, _digest(inspect.getsourcefile(make)))


@contextlib.contextmanager
def printing_to_stderr() -> Iterator[None]:
    """Keep what a policy prints out of the results."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


def _file(path: str) -> ModuleType:
    whole = os.path.abspath(path)
    if not os.path.isfile(whole):
        raise Unusable(f"there is no file {whole}")
    _look_in(os.path.dirname(whole))
    known = "popkit_policy_" + hashlib.sha256(whole.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    spec = importlib.util.spec_from_file_location(known, whole)
    if spec is None or spec.loader is None:
        raise Unusable(f"{path} is not a Python file: its name has to end in {_SUFFIX}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[known] = module  # as an import does; what pickles or inspects a class looks there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001  somebody's code
        del sys.modules[known]
        raise Unusable(f"{path} cannot be imported: {error_in_words(error)}") from None
    return module


def _module(name: str) -> ModuleType:
    """Return a module of the current folder, of one in PYTHONPATH, or one that is installed; `bin/popkit` starts Python without these."""
    for folder in (os.getcwd(), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))):
        _look_in(folder)
    if sys.flags.no_site:
        import site

        site.main()
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001  somebody's code
        if isinstance(error, ModuleNotFoundError) and error.name and (name + ".").startswith(error.name + "."):
            raise Unusable(
                f"there is no module {name}: it is not in this folder, not in a folder of PYTHONPATH, and not installed for"
                f" {sys.executable}. For a file write path/to/file.py:Class"
            ) from None
        raise Unusable(f"{name} cannot be imported: {error_in_words(error)}") from None


def _look_in(folder: str) -> None:
    if folder not in sys.path:
        sys.path.append(folder)


def _instead(module: ModuleType) -> str:
    """Return, in words, the policies that a module has."""
    own = [name for name, value in vars(module).items() if inspect.isclass(value) and issubclass(value, Policy) and value is not Policy]
    return f" It has: {', '.join(sorted(own))}" if own else f" It has no class derived from {Policy.__module__}.Policy"


def _check(make: object, called: str, where: str) -> None:
    """Refuse a class that cannot be a policy, before any session is read."""
    if not inspect.isclass(make) or not issubclass(make, Policy):
        raise Unusable(f"{called} of {where} is not a policy: derive the class from {Policy.__module__}.Policy")
    own = [name for name in _METHODS if getattr(make, name) is not getattr(Policy, name)]
    if not own:
        raise Unusable(f"{called} has none of the methods of a policy: {', '.join(_METHODS)}")
    for name in own:
        signature = inspect.signature(getattr(Policy, name))
        try:
            inspect.signature(getattr(make, name)).bind(*signature.parameters)
        except TypeError:
            raise Unusable(f"{called}.{name} has to take ({', '.join(signature.parameters)})") from None
        if inspect.iscoroutinefunction(getattr(make, name)):
            raise Unusable(f"{called}.{name} must not be `async`")
    try:
        inspect.signature(make).bind()
    except TypeError as error:
        raise Unusable(f"{called}() must need no arguments: {error}. Give each a default") from None


def error_in_words(error: BaseException, own: str = "") -> str:
    """Return an error in a line: its kind, its message, and where it was raised, in the file `own` where it came through that."""
    message = " ".join(str(error).split())
    if isinstance(error, SyntaxError):
        return f"{error.msg} ({os.path.basename(error.filename or '')}, line {error.lineno})"
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    at = [frame for frame in frames if frame[0] == own] or frames
    place = f" ({os.path.basename(at[-1][0])}, line {at[-1][1]})" if at else ""
    return f"{type(error).__name__}{': ' if message else ''}{message}{place}"


def _digest(path: str | None) -> str:
    try:
        with open(path or "", "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()[:32]
    except OSError:
        return ""


# --- held to the interface ---

# The fields of a block and of a request that a policy must leave unchanged; a block that is not a result has no `call`.
_FIELDS: dict[type, tuple[str, ...]] = {
    Block: tuple(name for name in Block.__slots__ if name != "call"), Request: tuple(Request.__slots__),
}  # fmt: skip


class Failed(Exception):
    """A policy raised, or did or returned something that no policy may; the message says in which method and what."""


class Checked(Policy):
    """A user's own policy behind the interface of all policies; Failed where it violates the interface."""

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
            raise Failed(f"{name} raised {error_in_words(error, inspect.getsourcefile(self.make) or '')}") from None

    def _note(self, value: Block | Request) -> None:
        self.originals.setdefault(value, [getattr(value, name) for name in _FIELDS[type(value)]])

    def _watched(self, name: str, view: View, *arguments: Any) -> Any:
        """Return the answer of a method that sees the context; Failed where it changes the context."""
        before, prices = _copy(view), view.prices.to_json()
        answer = self._call(name, getattr(self.policy, name), *arguments)
        changed = [field for field in vars(before) if field != "prices" and getattr(before, field) != getattr(view, field)]
        if view.prices is not before.prices or prices != view.prices.to_json():
            view.prices = before.prices
            for field, value in prices.items():
                setattr(view.prices, field, value)
            changed.append("prices")
        if changed:
            raise Failed(f"{name} changed the view it was given: {', '.join(changed)}")
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
        raise Failed(f"enter returned {_kind(text)}, not a text or None")

    def event(self, event: Event) -> None:
        self._call("event", self.policy.event, event)

    def at_compaction(self, event: Compacted, view: View) -> str:
        effect = self._watched("at_compaction", view, event, view)
        if effect in (SUMMARISED, STANDS):
            return str(effect)
        raise Failed(f"at_compaction returned {_kind(effect)}, neither {SUMMARISED} nor {STANDS}")

    def compact(self, event: Event) -> None:
        self._call("compact", self.policy.compact, event)

    def cut(self, context: list[Block]) -> None:
        self._call("cut", self.policy.cut, list(context))

    def decide(self, view: View) -> list[Choice]:
        choices = self._watched("decide", view, view)
        if not isinstance(choices, list):
            raise Failed(f"decide returned {_kind(choices)}, not a list")
        there, chosen = set(view.context), set()
        for choice in choices:
            block = _block_of(choice)
            if block not in there:
                raise Failed("decide clears a block outside of the context")
            if not block.id and not block.asks:
                raise Failed("decide clears a block that is neither a result nor a call: a text of the user's, an answer or thinking")
            if block in chosen:
                raise Failed("decide clears a result twice at once")
            chosen.add(block)
        return choices

    def missed(self, block: Block) -> None:
        self._call("missed", self.policy.missed, block)

    def answered(self, request: Request) -> None:
        self._note(request)
        self._call("answered", self.policy.answered, request)

    def end(self) -> None:
        """Restore the arguments that the policy changed; Failed where it changed any."""
        changed = set()
        for watched, values in self.originals.items():
            for name, value in zip(_FIELDS[type(watched)], values):
                if getattr(watched, name) != value:
                    setattr(watched, name, value)
                    changed.add(f"{type(watched).__name__}.{name}")
        if changed:
            raise Failed(f"it changed its arguments: {', '.join(sorted(changed))}")


def _copy(view: View) -> View:
    return replace(
        view, context=view.context[:], sizes=view.sizes[:], cleared=dict(view.cleared), entered=dict(view.entered), lost=set(view.lost),
        ends=view.ends[:],
    )  # fmt: skip


def _block_of(choice: object) -> Block:
    """Return the block of a choice; Failed for anything else."""
    if isinstance(choice, tuple) and len(choice) == 3:
        block, text, reasons = choice
        if (
            isinstance(block, Block)
            and isinstance(text, str)
            and isinstance(reasons, list)
            and all(isinstance(one, str) for one in reasons)
        ):
            return block
    raise Failed("decide returned something other than a list of (block, text in its place, list of reasons)")


def _kind(value: object) -> str:
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
