"""`popkit config`: check the configuration, and show each value with the file that sets it.

Each problem of a file is named with its key, its value and what is allowed. The check walks the table of `fields`, so it finds a problem
exactly where the hooks' reader ignores something; it also says where a text stops being JSON and which keys occur twice.

Reads only. Exit 0 when all is well, 1 when there are problems.
"""

from __future__ import annotations

import collections
import difflib
import json
import os

from hooks.utils import text, units
from hooks.utils.config import gone
from hooks.utils.config.fields import FIELDS
from hooks.utils.config.layers import Layer, layer_paths, merge, read_layer, read_layers, read_text, without_comments
from hooks.utils.config.schema import json_schema
from hooks.utils.config.validation import usable
from hooks.utils.io import home
from hooks.utils.policy.masking import mask

from .answering import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from hooks.utils.flag_parser import Parsed


KEY_WIDTH, VALUE_WIDTH = 41, 21

# Values where no file sets them.
BUILT_IN = {key: field["default"] for key, field in FIELDS.items()}


def schema(_args: Parsed, _environ: Mapping[str, str]) -> Answer:
    """Return the JSON Schema of the configuration."""
    return Answer([], content=text.as_json(json_schema()))


def _folders(args: Parsed, environ: Mapping[str, str], root: str) -> tuple[str, str | None, str]:
    """Return the plugin's folder, ours and the project's. `root`: the first, by default the one that this file lies in."""
    project = args.project or environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
    return root or home.plugin_root(), _state_home(environ), os.path.abspath(project)


def _state_home(environ: Mapping[str, str]) -> str | None:
    try:
        return home.popkit_home(environ)
    except home.HomeRefused:
        raise
    except home.NoHome:
        return None


def check(args: Parsed, environ: Mapping[str, str], root: str = "") -> Answer:
    """Report every problem of the files that apply, or of those that are named."""
    folders = _folders(args, environ, root)
    if args.arguments:
        files = args.arguments
        problems = [problem for path in files for problem in check_file(path)]
    else:
        files, problems = check_layers(*folders)
    data = {"ok": not problems, "files": files, "problems": [problem._asdict() for problem in problems]}
    return Answer(_problem_lines(problems) if problems else _files_without(files), data, code=int(bool(problems)))


def _problem_lines(problems: list) -> list:
    lines: list = []
    file = None
    for problem in problems:
        if problem.file != file:
            file = problem.file
            lines.append(text.clean(file))
        what = problem.key + (": " if problem.key and problem.value else "") + problem.value
        if what:
            lines.append("  " + text.clean(what))
        for note in (f"allowed: {problem.allowed}", problem.hint):
            if note:
                lines += text.wrap("    " + note, indent="      ")
    summary = f"{units.counted(len(problems), 'problem')}. Where a value cannot be used, that of the layer below applies."
    return [*lines, *text.wrap(summary)]


def _files_without(files: list) -> list:
    return [f"No problems in {units.counted(len(files), 'file')}:", *("  " + text.clean(path) for path in files)]


def path(args: Parsed, environ: Mapping[str, str], root: str = "") -> Answer:
    """Return the files that apply, lowest first."""
    folders = _folders(args, environ, root)
    return Answer(_file_lines(read_layers(*folders)))


def _file_lines(layers: list[Layer]) -> list:
    return [text.clean(f"{layer.name:<11} {layer.path}{_state(layer)}") for layer in layers]


def _state(layer: Layer) -> str:
    if layer.error:
        return f" (ignored: {layer.error})"
    if layer.ignored:
        return f" ({units.counted(len(layer.ignored), 'value')} ignored)"
    return "" if os.path.lexists(layer.path) else " (not there)"


def show(args: Parsed, environ: Mapping[str, str], root: str = "") -> Answer:
    """Return each value, and where it comes from."""
    folders = _folders(args, environ, root)
    layers = read_layers(*folders)
    refused: list = []
    merge(layers, refused)
    has_problems = bool(refused) or any(layer.error or layer.ignored for layer in layers)
    rows = sources(layers)
    data = {
        "values": [{"key": key, "value": value, "source": layer.name, "file": layer.path} for key, value, layer in rows],
        "files": [{"layer": layer.name, "file": layer.path, "error": layer.error} for layer in layers],
    }
    lines = [line for key, value, layer in rows if not _in_the_way(key, layer) for line in _row(key, value, layer.name)]
    lines += ["", "Shipped models are left out here; --json lists them."]
    lines += ["", "The files, lowest first:", *_file_lines(layers), ""]
    lines += ["A session's own profile and pins take precedence: /popkit:context retention"]
    if has_problems:
        lines += ["Some values are ignored: popkit config check says which and why."]
    return Answer(lines, data, code=int(has_problems))


def _in_the_way(key: str, layer: Layer) -> bool:
    """Return whether a row is left out: descriptions have no effect and are wide, and the shipped models are a hundred rows."""
    return key.endswith(".description") or (key.startswith("models.by_id") and layer.name == "shipped")


def _row(key: str, value: object, source: str) -> list:
    """Return one row, or one line for each item of a list; an empty list has one row."""
    items = value if isinstance(value, list) and value else [value]
    cells = [text.clean(shown(item)) for item in items]
    lines = [f"{_padded(text.clean(key), KEY_WIDTH)} {_padded(cells[0], VALUE_WIDTH)} {source}"]
    return lines + [f"{'':<{KEY_WIDTH}} {cell}" for cell in cells[1:]]


def _padded(cell: str, columns: int) -> str:
    return cell + " " * (columns - text.width(cell))


def sources(layers: list[Layer]) -> list[tuple[str, object, Layer]]:
    """Return (key, value, layer that it comes from) for each plain value and list of the effective configuration."""
    layers = [Layer("built-in", "", BUILT_IN), *layers]
    origin: dict = {}
    held: dict = {}
    for count, layer in enumerate(layers, 1):
        # Thresholds as written: alone, some of them might not rise with the built-in ones.
        alone = dict(leaves({**merge([Layer("", "", layer.values)]), "thresholds": layer.values.get("thresholds", {})}))
        below, held = held, dict(leaves(merge(layers[:count])))
        # A layer that repeats the value below it is the one to edit, so it is the source too.
        origin = {
            path: origin[path] if path in below and below[path] == value and not (path in alone and alone[path] == value) else layer
            for path, value in held.items()
        }
    return [(dotted(path), value, origin[path]) for path, value in held.items()]


def leaves(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """Return (path, value) of everything in nested objects that is not an object, or an empty one."""
    if isinstance(value, dict) and (value or not path):
        for key, member in value.items():
            yield from leaves(member, (*path, key))
    else:
        yield path, value


# --- every problem of a file ---

LONGEST_VALUE = 60

# `value` is the JSON text of the value, "" where the problem is not one value; `hint` is one more sentence or "".
Problem = collections.namedtuple("Problem", "file key value allowed hint")


def check_layers(root: str | None, home: str | None, project: str | None) -> tuple[list[str], list[Problem]]:
    """Return (files that exist, problems) of all layers, including problems that only show when the layers are merged."""
    files, problems, layers = [], [], []
    for name, path in layer_paths(root, home, project):
        # lexists: a broken link exists, and is reported.
        if os.path.lexists(path):
            files.append(path)
            problems += check_file(path, name)
        elif name == "shipped":
            problems.append(Problem(path, "", "", "the shipped file; the built-in defaults apply", "Install PopKit again."))
        layers.append(read_layer(name, path))
    beside = os.path.join(root or "", "hooks", "retention-config.json")
    if root and os.path.lexists(beside):
        # The specification names this place, too; hooks read power-mode/config.json, its other place.
        place = layers[1].path
        problems.append(Problem(beside, "", "", "no file here; it is not read", f'Move its "retention" to {place}.'))
    refused: list[Any] = []
    merge(layers, refused)
    for layer, key, value, allowed in refused:
        problems.append(Problem(layer.path, key, shown(value), allowed, ""))
    return files, problems


def check_file(path: str, layer: str | None = None) -> list[Problem]:
    """Return the problems of one file; without a layer, the layer follows from its path."""
    text, error = read_text(path)
    if text is None:
        return [Problem(path, "", "", "a JSON file", error or "There is no such file.")]
    return check_text(text, path, layer or layer_of(path))


def layer_of(path: str) -> str:
    """Return the layer that a file belongs to by its place; the user's for any other."""
    folder, name = os.path.split(os.path.abspath(path))
    if os.path.basename(folder) == ".claude":
        return "project"
    return "power-mode" if os.path.basename(folder) == "power-mode" and name == "config.json" else "user"


def check_text(text: str, path: str, layer: str) -> list[Problem]:
    """Return the problems of a file's text."""
    repeated: list[Any] = []
    try:
        document = _parsed(text, repeated)
    except json.JSONDecodeError as error:
        where = f"{error.msg} at line {error.lineno}, column {error.colno}."
        return [Problem(path, "", "", "JSON; the whole file is ignored", where)]
    except _TooLong as error:
        where = f"The number {error.digits[:12]}… at line {text.count(chr(10), 0, text.find(error.digits)) + 1}"
        hint = f"{where} has {len(error.digits.lstrip('-')):,} digits. Write a smaller one."
        return [Problem(path, "", "", "JSON; the whole file is ignored", hint)]
    except RecursionError:
        hint = "It holds lists or objects that are nested too deeply to be read. Remove the inner ones."
        return [Problem(path, "", "", "JSON; the whole file is ignored", hint)]
    return _repeated(document, repeated, path, layer) + check_document(document, path, layer)


def check_document(document: object, path: str, layer: str) -> list[Problem]:
    """Return the problems of a file's content."""
    problems: list[Problem] = []

    def note(at: tuple[str | int, ...], value: object, allowed: str, known: tuple[str, ...]) -> None:
        hint = gone.SETTINGS.get(gone.setting(at, value), "")
        if not hint:
            hint = _nearest(value, known) if allowed else _about_unknown(at, known)
        allowed = allowed or "one of the keys " + ", ".join(known)
        problems.append(Problem(path, dotted(at), shown(value), allowed, hint))

    usable(document, layer, note)
    return problems


def dotted(path: tuple[str | int, ...]) -> str:
    """Return a key path as one text: `retention.tool_overrides.Read.patterns["*.md"]`, `pins[0]`."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        elif key.replace("_", "a").replace("-", "a").isalnum():
            text += f".{key}" if text else key
        else:
            text += f"[{shown(key)}]"
    return text


class _TooLong(Exception):
    """A whole number with more digits than Python reads."""

    def __init__(self, digits: str) -> None:
        super().__init__(digits)
        self.digits = digits


def _whole(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise _TooLong(digits) from None


def _parsed(text: str, repeated: list[Any]) -> object:
    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        unique = dict(members)
        if len(unique) < len(members):
            counts = collections.Counter(key for key, _ in members)
            repeated.append((unique, [key for key in counts if counts[key] > 1]))
        return unique

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_int=_whole)
    except json.JSONDecodeError:
        return json.loads(without_comments(text), object_pairs_hook=pairs, parse_int=_whole)


def _repeated(document: object, repeated: list[Any], path: str, layer: str) -> list[Problem]:
    """Return the keys that occur twice in one object; in power-mode/config.json, only `retention` is ours."""
    problems: list[Problem] = []

    def walk(value: object, at: tuple[str | int, ...]) -> None:
        if isinstance(value, dict):
            for twin, keys in repeated:
                if twin is value:
                    problems.extend(
                        Problem(path, dotted((*at, key)), shown(value[key]), "each key once", "The last one counts.")
                        for key in keys
                        if layer != "power-mode" or (*at, key)[0] == "retention"
                    )
            for key, member in value.items():
                walk(member, (*at, key))
        elif isinstance(value, list):
            for index, member in enumerate(value):
                walk(member, (*at, index))

    if repeated:
        walk(document, ())
    return problems


def _about_unknown(at: tuple[str | int, ...], known: tuple[str, ...]) -> str:
    """Return the hint for a key that is not in the table."""
    if len(at) > 1:
        return ("There is no such key. " + _nearest(at[-1], known)).strip()
    if at[0] in FIELDS:
        return 'Move it inside "retention".'
    return ("There is no such key. " + _nearest(at[0], (*known, "retention"))).strip()


def _nearest(value: object, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(value, known, 1) if isinstance(value, str) else []
    return f'Did you mean "{close[0]}"?' if close else ""


def shown(value: object) -> str:
    """Return a value as JSON, shortened, with secrets masked and characters that a terminal would not show spelt out."""
    text = mask(json.dumps(value, ensure_ascii=False))
    if not text.isprintable():
        text = mask(json.dumps(value))
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
