"""Find a user's own policy by its name (`module:Class`, or `path/to/file.py:Class`).

A worker process receives only the name, so each looks it up again. A policy is the user's own code and runs as such; its output goes to
standard error.
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
from functools import lru_cache
from types import ModuleType
from typing import NamedTuple

from popkit_retention.core.errors import PopkitError

from .policy import Policy

_SUFFIX = ".py"
_METHODS = [name for name, value in vars(Policy).items() if inspect.isfunction(value)]


class PolicyUnusable(PopkitError):
    """The policy does not exist or cannot be used; the message says why and what to do."""


class OwnPolicy(NamedTuple):
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
def load(name: str) -> OwnPolicy:
    """Return the policy of a name; PolicyUnusable."""
    where, _, called = name.rpartition(":")
    if not where or not called.isidentifier():
        raise PolicyUnusable(f"{name} is not the name of a policy. Write module:Class, or path/to/file.py:Class")
    with printing_to_stderr():
        module = _file(where) if where.endswith(_SUFFIX) or os.sep in where else _module(where)
    make = getattr(module, called, None)
    if make is None:
        raise PolicyUnusable(f"{where} has no {called}.{_policies_in(module)}")
    _check(make, called, where)
    described = (inspect.getdoc(make) or "").partition("\n")[0] if make.__doc__ else ""
    return OwnPolicy(make, described, _digest(inspect.getsourcefile(make)))


@contextlib.contextmanager
def printing_to_stderr() -> Iterator[None]:
    """Keep a policy's own output out of the results."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


def _file(path: str) -> ModuleType:
    whole = os.path.abspath(path)
    if not os.path.isfile(whole):
        raise PolicyUnusable(f"there is no file {whole}")
    _look_in(os.path.dirname(whole))
    known = "popkit_policy_" + hashlib.sha256(whole.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    spec = importlib.util.spec_from_file_location(known, whole)
    if spec is None or spec.loader is None:
        raise PolicyUnusable(f"{path} is not a Python file: its name has to end in {_SUFFIX}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[known] = module  # as an import does, because pickle and inspect look there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001  somebody's code
        del sys.modules[known]
        raise PolicyUnusable(f"{path} cannot be imported: {error_in_words(error)}") from None
    return module


def _module(name: str) -> ModuleType:
    """Return a module from the current folder, from PYTHONPATH, or an installed one; `bin/popkit` starts Python without these."""
    for folder in (os.getcwd(), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))):
        _look_in(folder)
    if sys.flags.no_site:
        import site

        site.main()
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001  somebody's code
        if isinstance(error, ModuleNotFoundError) and error.name and (name + ".").startswith(error.name + "."):
            raise PolicyUnusable(
                f"there is no module {name}: it is not in this folder, not in a folder of PYTHONPATH, and not installed for"
                f" {sys.executable}. For a file write path/to/file.py:Class"
            ) from None
        raise PolicyUnusable(f"{name} cannot be imported: {error_in_words(error)}") from None


def _look_in(folder: str) -> None:
    if folder not in sys.path:
        sys.path.append(folder)


def _policies_in(module: ModuleType) -> str:
    """Return, in words, the policies that a module has."""
    policies = [
        name for name, value in vars(module).items() if inspect.isclass(value) and issubclass(value, Policy) and value is not Policy
    ]
    return f" It has: {', '.join(sorted(policies))}" if policies else f" It has no class derived from {Policy.__module__}.Policy"


def _check(make: object, called: str, where: str) -> None:
    """Refuse a class that cannot be a policy, before any session is read."""
    if not inspect.isclass(make) or not issubclass(make, Policy):
        raise PolicyUnusable(f"{called} of {where} is not a policy: derive the class from {Policy.__module__}.Policy")
    overridden = [name for name in _METHODS if getattr(make, name) is not getattr(Policy, name)]
    if not overridden:
        raise PolicyUnusable(f"{called} has none of the methods of a policy: {', '.join(_METHODS)}")
    for name in overridden:
        signature = inspect.signature(getattr(Policy, name))
        try:
            inspect.signature(getattr(make, name)).bind(*signature.parameters)
        except TypeError:
            raise PolicyUnusable(f"{called}.{name} has to take ({', '.join(signature.parameters)})") from None
        if inspect.iscoroutinefunction(getattr(make, name)):
            raise PolicyUnusable(f"{called}.{name} must not be `async`")
    try:
        inspect.signature(make).bind()
    except TypeError as error:
        raise PolicyUnusable(f"{called}() must need no arguments: {error}. Give each a default") from None


def error_in_words(error: BaseException, file: str = "") -> str:
    """Return an error in a line: its kind, its message, and where it was raised, in `file` where it came through that."""
    message = " ".join(str(error).split())
    if isinstance(error, SyntaxError):
        return f"{error.msg} ({os.path.basename(error.filename or '')}, line {error.lineno})"
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    at = [frame for frame in frames if frame[0] == file] or frames
    place = f" ({os.path.basename(at[-1][0])}, line {at[-1][1]})" if at else ""
    return f"{type(error).__name__}{': ' if message else ''}{message}{place}"


def _digest(path: str | None) -> str:
    try:
        with open(path or "", "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()[:32]
    except OSError:
        return ""
