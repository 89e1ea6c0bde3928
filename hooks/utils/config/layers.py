"""The configuration as hooks read it: tolerant, cheap, never a reason to fail.

A value that cannot be used is left out alone, so that the layer below shows through; a file that cannot be read as JSON
is left out whole, and its layer says why. Nothing here raises. `popkit config check` reports what is passed over here.
"""

from __future__ import annotations

from ..io import files
from ..io import home as home_of
from ..io.codec import loads
from ..io.system import join
from ..policy.ruleset import THRESHOLDS
from . import GONE, gone
from .fields import ADD, FIELDS, LONGER, OFF, RISING
from .validation import DROP, rises, usable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .validation import Path

    Refuse = Callable[[str, object, str], None]

LONGEST_FILE = 256 * 1024
_BYTE_ORDER_MARK = "\ufeff"

STAYS_OFF = "false; a project cannot switch on what your own configuration switched off"
ONLY_OFF = "off; a project can only switch it off"
STAYS_PRESERVED = "preserved; a project cannot give up what your own configuration preserves"

# Lowest first; each lies above the ones before it.
LAYERS = ("shipped", "power-mode", "user", "project")
MANAGED = "managed"  # of the organisation, above all others; most machines have none


class Layer:
    """A file of the configuration.

    `values` are the usable settings; `error` says why the file as a whole could not be used (None also for a file that
    does not exist), `ignored` holds the key paths of values that were left out, `gone` the names (gone.py) of
    those that an earlier version knew.
    """

    __slots__ = ("error", "gone", "ignored", "name", "path", "values")

    def __init__(
        self, name: str, path: str, values: dict[str, object], error: str | None = None, ignored: tuple[Path, ...] = (),
        gone: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.name = name
        self.path = path
        self.values = values
        self.error = error
        self.ignored = ignored
        self.gone = gone


def layer_paths(root: str | None, home: str | None, project: str | None) -> list[tuple[str, str]]:
    """Return (layer name, path) of each file, lowest first; a folder that is not known has none, and an organisation need not have one."""
    paths = []
    if root:
        paths.append(("shipped", join(root, "retention-config.json")))
        paths.append(("power-mode", join(root, "power-mode", "config.json")))
    if home:
        paths.append(("user", join(home, "retention-config.json")))
    if project:
        paths.append(("project", join(project, ".claude", "retention-config.json")))
    if files.is_there(home_of.managed_config()):
        paths.append((MANAGED, home_of.managed_config()))
    return paths


def load(root: str | None, home: str | None, project: str | None) -> dict[str, Any]:
    """Return the effective `retention` object: plugin folder, state home and project folder give the four files. Under GONE it has the
    names of settings in them that an earlier version knew."""
    layers = read_layers(root, home, project)
    names = [name for layer in layers for name in layer.gone]
    return {**merge(layers), **({GONE: names} if names else {})}


def read_layers(root: str | None, home: str | None, project: str | None) -> list[Layer]:
    """Return the layers, lowest first; one whose file does not exist has no values and no error."""
    return [read_layer(name, path) for name, path in layer_paths(root, home, project)]


def read_layer(name: str, path: str) -> Layer:
    text, error = read_text(path)
    if text is None:
        return Layer(name, path, {}, error)
    try:
        document = _parsed(text)
    except ValueError as reason:
        return Layer(name, path, {}, f"not JSON: {reason}")
    ignored: list[Path] = []
    names: list[str] = []

    def note(at: Path, value: object, *_: object) -> None:
        ignored.append(at)
        names.extend(filter(None, [gone.setting(at, value)]))

    values = usable(document, name, note)
    return Layer(name, path, values, None, tuple(ignored), tuple(names))


def read_text(path: str) -> tuple[str | None, str | None]:
    """Return (text, None), or (None, the problem); (None, None) when there is no such file."""
    try:
        data = files.read_bytes(path, LONGEST_FILE + 1)
    except NotADirectoryError:
        data = None
    except (OSError, ValueError) as reason:
        return None, f"cannot be read: {getattr(reason, 'strerror', None) or reason}"
    if data is None:
        return None, None
    if len(data) > LONGEST_FILE:
        return None, f"larger than {LONGEST_FILE // 1024} KB"
    try:
        return data.decode().lstrip(_BYTE_ORDER_MARK), None
    except UnicodeDecodeError:
        return None, "not UTF-8"


def _parsed(text: str) -> object:
    if "NaN" in text or "Infinity" in text:
        text = _without_constants(without_comments(text))
    try:
        return loads(text)
    except ValueError:
        if "//" not in text:
            raise
        return loads(without_comments(text))


def without_comments(text: str) -> str:
    """Return the text with each line that is a `//` comment emptied, as in the specification's example; lines stay in place."""
    return "\n".join(["" if line.lstrip().startswith("//") else line for line in text.split("\n")])


def _without_constants(text: str) -> str:
    """Return the text with NaN and Infinity, which are not JSON, replaced by `{}`: the codec would read null, and null is a setting.

    An empty object changes nothing where an object is due and is left out everywhere else."""
    pieces = []
    at = 0
    while at < len(text):
        start = text.find('"', at)
        start = len(text) if start < 0 else start
        outside = text[at:start]
        pieces.append(outside.replace("-Infinity", "{}").replace("Infinity", "{}").replace("NaN", "{}"))
        at = start + 1
        while at < len(text) and text[at] != '"':
            at += 2 if text[at] == "\\" else 1
        pieces.append(text[start : at + 1])
        at += 1
    return "".join(pieces)


def merge(layers: list[Layer], refused: list[Any] | None = None) -> dict[str, object]:
    """Return the effective `retention` object of layers, lowest first.

    Objects merge key by key, lists and plain values are replaced, null resets. In `tool_overrides` the upper layer's
    patterns come first, because the first that matches wins. What a layer may not do to the ones below it is left out
    and appended to `refused` as (layer, key, value, what is allowed).
    """
    effective: dict[str, object] = {}
    refused = [] if refused is None else refused
    for layer in layers:

        def refuse(key: str, value: object, allowed: str, layer: Layer = layer) -> None:
            refused.append((layer, key, value, allowed))

        for key, value in layer.values.items():
            if layer.name == "project":
                value = _of_a_project(key, effective.get(key, FIELDS[key]["default"]), value, refuse)
            joined = DROP if value is DROP else _joined(key, effective, value, refuse)
            if joined is not DROP:
                effective[key] = joined
    return effective


def _of_a_project(key: str, below: Any, value: Any, refuse: Refuse) -> Any:
    """Return what of a project's value counts above the layers below; DROP for none of it."""
    may = FIELDS[key]["project"]
    if may == ADD:
        return [*below, *(item for item in value if item not in below)]
    if may in (OFF, LONGER):
        if not isinstance(value, dict):
            return _no_looser(key, below, value, refuse)
        holds = {**FIELDS[key]["default"], **below}
        members = {name: _no_looser(f"{key}.{name}", holds.get(name), member, refuse) for name, member in value.items()}
        return {name: member for name, member in members.items() if member is not DROP}
    if key == "tool_overrides":
        return {tool: used for tool, rule in value.items() if (used := _still_preserving(tool, below, rule, refuse)) is not DROP}
    return value


def _no_looser(key: str, below: Any, value: Any, refuse: Refuse) -> Any:
    """Return a project's value unless it switches on what was off, is another word than `off` or the one below, or a smaller number; else
    DROP."""
    if isinstance(value, str) and value not in ("off", below):
        refuse(key, value, ONLY_OFF)
        return DROP
    if value is True and below is False:
        refuse(key, value, STAYS_OFF)
        return DROP
    if type(value) is int and type(below) is int and value < below:
        refuse(key, value, f"at least {below}, as your own configuration says; a project can only make it longer")
        return DROP
    return value


def _still_preserving(tool: str, below: dict[str, Any], rule: Any, refuse: Refuse) -> Any:
    """Return a project's override of a tool, or DROP where it would end what the layers below preserve, under its name or under one with
    wildcards."""
    own = below.get(tool) or {}
    if _preserves(own):
        rule = {"tier": rule} if isinstance(rule, str) else rule or {}
        hides = own.get("tier") == "preserved" or rule.get("patterns")
    else:
        hides = any(_preserves(entry) and _hides(tool, name, below) for name, entry in below.items())
    if hides:
        refuse(f"tool_overrides.{tool}", rule, STAYS_PRESERVED)
        return DROP
    return rule


def _preserves(entry: dict[str, Any]) -> bool:
    return "preserved" in (entry.get("tier"), *entry.get("patterns", {}).values())


def _hides(tool: str, name: str, below: dict[str, object]) -> bool:
    """Return whether an override of `tool` comes before the one below under a name with wildcards. Whether two such names match the same
    tools is not checked."""
    from ..policy.globs import matches_command  # seldom
    from ..policy.needles import is_wild

    return is_wild(name) and (is_wild(tool) or (tool not in below and matches_command(name, tool)))


def _joined(key: str, effective: dict[str, Any], value: Any, refuse: Refuse) -> Any:
    below = effective.get(key)
    if below is None:
        below = {}
    if key == "tiers":
        return {**below, **{tier: {**below.get(tier, {}), **fields} for tier, fields in value.items()}}
    if key == "tool_overrides":
        return _over(below, value, _joined_override)
    if key == "thresholds":
        whole = {**THRESHOLDS, **below}
        if rises({**whole, **value}):
            return {**below, **value}
        refuse(key, value, f"{RISING}; the layers below say " + ", ".join([f"{name} {level}" for name, level in whole.items()]))
        return DROP
    if key == "models":
        by_id = _over(below.get("by_id", {}), value.get("by_id", {}), lambda known, more: {**(known or {}), **more})
        return {**below, **value, **({"by_id": by_id} if by_id else {})}
    if key == "data_rules":  # no layer takes a rule away
        return [*below, *(rule for rule in value or () if rule not in below)] if below else value
    if key in ("grace_calls", "compaction", "memory", "context"):
        return {**below, **value}
    return value


def _over(below: dict[str, object], above: dict[str, object], join: Callable[[Any, Any], Any]) -> dict[str, object]:
    """Return `above` first, then what only `below` has; a null above removes the key."""
    joined = {key: join(below.get(key), value) for key, value in above.items() if value is not None}
    joined.update((key, value) for key, value in below.items() if key not in above)
    return joined


def _joined_override(below: dict[str, Any] | None, above: dict[str, Any] | str) -> dict[str, Any]:
    """Join an override of a tool: a plain tier replaces all of it, an object is merged into it."""
    if isinstance(above, str):
        return {"tier": above}
    below = below or {}
    joined: dict[str, object] = {}
    tier = above.get("tier") or above.get("default") or below.get("tier")
    if tier:
        joined["tier"] = tier
    patterns = _over(below.get("patterns", {}), above.get("patterns", {}), lambda _, tier: tier)
    if patterns:
        joined["patterns"] = patterns
    return joined
