"""`KEY=VALUE` as policies understand it: which domain, which key, what it is changed to. Pure."""

from __future__ import annotations

from typing import NamedTuple

from hooks.utils.flag_parser import UsageError
from hooks.utils.text import quote as shown

from ..governance.policies import DEFAULT_POLICY, DOMAINS, KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_SET, _ADD, _REMOVE = "=", "+=", "-="
_SWITCHES = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
_NUMERALS = "keep_context_ids"  # the list that holds numbers
_LONGEST_NUMBER = 40  # letters: a longer one is none that a key can have


class Assignment(NamedTuple):
    """One change: of a domain's key, by `=`, `+=` or `-=`, to a value as a policy's JSON has it."""

    domain: str
    key: str
    how: str
    value: object


def read(word: str, domain: str = "") -> Assignment:
    """One `KEY=VALUE`, whose key names its domain unless one is given; UsageError for what is none."""
    left, equals, value = word.partition("=")
    if not equals:
        raise UsageError(f"{shown(word)} is not KEY=VALUE. For example: memory.older_than_days=90")
    how = _SET
    if left[-1:] in ("+", "-"):
        left, how = left[:-1], left[-1] + "="
    named, dot, key = left.strip().rpartition(".")
    if key not in KEYS:
        raise UsageError(f"unknown key {shown(key)}. Known: {', '.join(KEYS)}")
    if dot:
        if named not in DOMAINS:
            raise UsageError(f"unknown domain {shown(named)}. Known: {', '.join(DOMAINS)}")
        if domain and named != domain:
            raise UsageError(f"{shown(word)} is about {named}, and --domain says {domain}")
    elif not domain:
        raise UsageError(f"which domain does {key} mean? Write memory.{key} or rag.{key}, or add --domain")
    default = getattr(DEFAULT_POLICY, key)
    if how != _SET and not isinstance(default, tuple):
        raise UsageError(f"{key} is not a list, so {how} does not work with it. Write {key}=VALUE")
    return Assignment(named or domain, key, how, _value(key, value.strip(), default))


def _value(key: str, word: str, default: object) -> object:
    if isinstance(default, bool):
        if word.lower() not in _SWITCHES:
            raise UsageError(f"{key} must be true or false, not {shown(word)}")
        return _SWITCHES[word.lower()]
    if isinstance(default, tuple):
        words = [each.strip() for each in word.split(",") if each.strip()]
        return [_number(key, each) for each in words] if key == _NUMERALS else words
    return _number(key, word)


def _number(key: str, word: str) -> int | float:
    """A number as Python writes it; what is not finite is for the policy to refuse."""
    try:
        number = float(word[:_LONGEST_NUMBER])
        if len(word) <= _LONGEST_NUMBER:
            return int(word) if word.lstrip("+-").isdigit() else number
    except ValueError:
        pass
    raise UsageError(f"{key} takes {'numbers' if key == _NUMERALS else 'a number'}, not {shown(word)}")


def config_of(changes: Iterable[Assignment], policy: Mapping[str, Any]) -> dict[str, object]:
    """What is to be configured, one change after the other: lists begin as the policy has them."""
    config: dict[str, Any] = {}
    for change in changes:
        if change.how == _SET or not isinstance(change.value, list):
            config[change.key] = change.value
            continue
        before = config.get(change.key, policy[change.key])
        if change.how == _REMOVE:
            config[change.key] = [each for each in before if each not in change.value]
        else:
            config[change.key] = [*before, *(each for each in change.value if each not in before)]
    return config


def amends(changes: Iterable[Assignment]) -> bool:
    """Whether what comes out depends on what the policy was."""
    return any(change.how != _SET for change in changes)
