"""The parts `(key, scope)` that a result is about. Pure: paths are only compared as text.

Keys and scopes are those of the table in docs/design/README.md. Whatever depends on a place that cannot be known (`cd $DIR`, `cat $FILE`)
has a `?` in that position and is covered by nothing: what is not understood never expires.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    # (key, scope), a list where it comes from a file. What a scope holds depends on the key: see docs/design/README.md.
    Part = Sequence[Any]

# What shows a part has run: whenever its line was run, if that succeeded, or nobody knows.
ALWAYS, ON_SUCCESS, UNSURE = 0, 1, 2
WHOLE = [1, 0]  # of a file; an end of 0 is the end of the file
EXCERPT = [0, 0]  # of unknown extent
UNKNOWN = "?"
# Keys of lines of a file as it is on disk, and as it is in a commit: that no edit changes.
FILE = "read:"
REVISION = "revision:"
LISTING = "search:files:ls:"  # of `ls`
# Key of all that git shows of a working tree, so that a change finds it. Its scope: the command, what it depends on, the paths it is about.
TREE = "tree:"

_GLOB_CHARS = frozenset("*?[{")
# Brackets are left out: where they occur in the name of a file to read, they are a route such as `[id].tsx`.
_READ_GLOB_CHARS = frozenset("*?{")
_VARIABLE_STARTS = frozenset("_{(@*?!#-")
# Marks of a target that narrows a run in another dimension than its path: tests selected by name, packages.
SELECTION = "k="
PACKAGE = "p="
# Marks of what else a run or a look has been told: to show less (only a look with the same limit, or none, is covered by it), to show more
# (only one that shows it, too, covers it), and what makes it like none without: an environment, an unknown option, another working tree.
LESS = "l="
MORE = "m="
OTHERWISE = "v="
TREE_OF = "t="
MARKS = (LESS, MORE, OTHERWISE, TREE_OF)
# Behind the name of a limit that is a number: at most, or at least, so many.
AT_MOST = " \u2264"
AT_LEAST = " \u2265"
EVERY = "*"  # package


def normal_path(path: str, cwd: str) -> str:
    """Return the path, absolute and without detours; it begins with `?/` when a variable or an unknown folder is in it, `~` stays.

    A folder in a container is written `docker:NAME:/folder`; Windows paths become `D:/x`, and `/d/x` too where the folder has a drive.
    """
    if cwd.startswith("docker:") and ":" in cwd[7:]:
        host = cwd[: cwd.find(":", 7) + 1]
        return host + normal_path(path, cwd[len(host) :] or "~")
    if "$" in path or "`" in path or "<(" in path or ">(" in path:
        for home in ("$HOME", "${HOME}"):
            if path == home or path.startswith(home + "/"):
                return normal_path("~" + path[len(home) :], cwd)
        for here in ("$PWD/", "${PWD}/"):
            if path.startswith(here):
                return normal_path(path[len(here) :], cwd)
        if path[1:2] == "(" or has_variable(path):
            return "?/" + path
    if path[1:2] == ":" or cwd[1:2] == ":" or path.startswith("\\\\"):
        path, cwd = _without_drive_forms(path, cwd), _without_drive_forms(cwd, "")
    if not path:
        return cwd
    if path[0] != "/" and path[0] != "~" and path[1:2] != ":":
        if cwd.startswith(UNKNOWN):
            return "?/" + path
        path = f"{cwd}{path}" if cwd[-1:] == "/" else f"{cwd}/{path}" if cwd else path
    if "/." in path or "//" in path or path[-1] == "/" or path[0] == ".":
        if path[0] == "~" and "/.." in path:
            return "?/" + path
        from posixpath import normpath  # brings `os` with it, which few paths are worth

        path = normpath(path)
        if path.startswith("//"):
            path = path[1:]
    return path


def lies_in(path: str, folder: str) -> bool:
    """Return whether a path lies in a folder, at any depth."""
    return path.startswith(folder.rstrip("/") + "/")


def _without_drive_forms(path: str, cwd: str) -> str:
    """Return a Windows path with forward slashes and an upper-case drive."""
    path = path.replace("\\", "/")
    if cwd[1:2] == ":" and path[:1] == "/" and path[1:2].isalpha() and path[2:3] in ("", "/"):
        path = f"{path[1]}:{path[2:]}"
    if path[1:2] == ":" and path[:1].isalpha():
        path = path[0].upper() + path[1:]
    return path


def has_variable(text: str) -> bool:
    """Return whether the shell would put something else there: `$x`, `$$`, `${x}`, `$(x)`, a backtick. A `$` at the end of a pattern is
    none."""
    if "`" in text:
        return True
    if "$" not in text:
        return False
    return "$$" in text or any(piece[:1].isalnum() or piece[:1] in _VARIABLE_STARTS for piece in text.split("$")[1:] if piece)


def is_number(text: str) -> bool:
    """Return whether a text is a number of lines or the like. Longer numbers are none, and int() refuses hostile ones."""
    return text.isascii() and text.isdigit() and len(text) < 10


def pages_of(text: str) -> list[int]:
    """Return the interval of pages such as `1-5` or `7`, as one of lines; an unknown one for anything else."""
    first, _, last = text.partition("-")
    numbers = [number.strip() for number in (first, last or first)]
    if not all(map(is_number, numbers)):
        return EXCERPT
    return [int(number) for number in numbers]


def has_glob(path: str) -> bool:
    return not _GLOB_CHARS.isdisjoint(path)


def read_part(path: str, interval: list[int], cwd: str) -> tuple[str, list[int]]:
    """Return the part of a read of lines of a file; which lines a glob shows is unknown."""
    where = normal_path(path, cwd)
    return "read:" + where, list(interval) if _READ_GLOB_CHARS.isdisjoint(where) else list(EXCERPT)


def revision_part(revision: str, path: str, interval: list[int], cwd: str) -> tuple[str, list[int]]:
    """Return the part of lines of a file in a commit, by what names them for git: the path begins at the top of the working tree, if not
    with `./`."""
    if has_variable(revision) or has_variable(path) or cwd.startswith(UNKNOWN):
        return f"{REVISION}{UNKNOWN}/{revision}:{path}", list(EXCERPT)
    return f"{REVISION}{cwd}:{revision}:{path}", list(interval)


def is_of_lines(part: Part) -> bool:
    """Return whether a part is lines of a file: then its scope is an interval."""
    return part[0].startswith((FILE, REVISION))


def content_search(pattern: str, roots: list[str], insensitive: bool = False, flags: str = "") -> tuple[str, list[str]]:
    """Return the part of a search for a pattern in files below absolute roots. `flags`: letters that change the meaning (`v`, `w`, `x`,
    `F`).

    A limit to certain files belongs to the pattern, written ` glob=*.ts` or ` type=py`.
    """
    marks = "".join(sorted({*flags, "i"})) if insensitive else flags
    return f"search:content:{pattern}:-{marks}" if marks else f"search:content:{pattern}", roots


def file_search(pattern: str, roots: list[str]) -> tuple[str, list[str]]:
    """Return the part of a search for files by a glob below absolute roots, at any depth for a pattern of one segment.

    The literal folders at the start of the pattern move into the roots, so that `src/**/*.ts` is `*.ts` below `src`.
    """
    if pattern.startswith("/"):
        roots, pattern = ["/"], pattern.lstrip("/")
    elif pattern.startswith("./"):
        pattern = pattern[2:]
    *folders, last = pattern.split("/")
    fixed = 0
    while fixed < len(folders) and not has_glob(folders[fixed]):
        fixed += 1
    if fixed:
        roots = [normal_path("/".join(folders[:fixed]), root) for root in roots]
    rest = folders[fixed:]
    deep = not folders or rest[:1] == ["**"]
    while rest and rest[0] == "**":
        del rest[0]
    last = "/".join([*rest, last])
    if not deep:
        last = "./" + last
        roots = [here_only(root) for root in roots]
    return "search:files:name:" + last, roots


def here_only(root: str) -> str:
    """Return the scope of a search that does not go below its root: it is inside the root, but holds none of its folders."""
    return root.rstrip("/") + "/."


def marked(scope: list[str], marks: Collection[str]) -> list[str]:
    """Return a scope with marks, in an order of its own."""
    return [*scope, *sorted({*marks})] if marks else scope


def with_marks(part: Part, marks: Collection[str]) -> Part:
    """Return a part with more marks."""
    if not marks:
        return part
    key, scope = part
    return key, marked(unmarked(scope), [*marks, *[item for item in scope if item.startswith(MARKS)]])


def uncut(part: Part, lines: int) -> Part:
    """Return a part without the limit to so many first or last lines at the end of its pipeline, where the output has fewer lines: it has
    left nothing out."""
    filters = [item for item in part[1] if item.startswith(LESS + " | ")]
    last = max(filters, key=len, default="")
    name, _, number = last.rpartition(AT_MOST)
    if not name.endswith((" | tail", " | head")) or not is_number(number) or int(number) <= lines:
        return part
    return part[0], [item for item in part[1] if item != last]


def unmarked(scope: list[str]) -> list[str]:
    return [item for item in scope if not item.startswith(MARKS)]


def action_key(part: Part) -> str:
    """Return the key of the action behind a part; of what git shows of a tree, the command."""
    return part[1][0] if part[0] == TREE else part[0]


def action_of(part: Part) -> str:
    """Return the name of the action behind a part: its key, and of a look the places, so that only the same look answers an error."""
    key, scope = part
    if key == TREE:
        return " ".join([scope[0], *unmarked(scope[2:])])
    return " ".join([key, *unmarked(scope)]) if key.startswith("search:") else key


def is_shown(part: Part, place: str, changed: Collection[str]) -> bool:
    """Return whether a part shows the part of a working tree that has `changed` (of commandline/worktree.py) at a file or below a
    folder."""
    key, scope = part
    if key != TREE or scope[1] not in changed or place.startswith(UNKNOWN):
        return False
    return any(root == place or below(root, place) or below(place, root) for root in scope[2:])


def overlap(one: list[int], other: list[int]) -> bool:
    """Return whether two intervals of lines of one file share a line; an unknown one may."""
    if one[0] < 1 or other[0] < 1:
        return True
    return (not one[1] or other[0] <= one[1]) and (not other[1] or one[0] <= other[1])


def below(item: str, root: str) -> bool:
    # `a.py::test_x` and `a.ts:12` lie in their file.
    if not item.startswith(root):
        return False
    return root.endswith("/") or item[len(root) : len(root) + 1] in ("/", ":")


def union(intervals: list[list[int]]) -> list[list[int]]:
    """Return the known intervals in order, with those that meet or overlap joined."""
    joined: list[list[int]] = []
    for start, end in sorted([i for i in intervals if i[0] > 0]):
        if joined and (joined[-1][1] == 0 or start <= joined[-1][1] + 1):
            if joined[-1][1] != 0:
                joined[-1][1] = 0 if end == 0 else max(end, joined[-1][1])
        else:
            joined.append([start, end])
    return joined


def describe_interval(interval: list[int]) -> str:
    """Return `10-20`, `10-` to the end, `10`, `all` or `part`."""
    start, end = interval
    if start < 1:
        return "part"
    if end == 0:
        return "all" if start == 1 else f"{start}-"
    return str(start) if start == end else f"{start}-{end}"


def describe_intervals(intervals: list[list[int]]) -> str:
    """Return what of a file they show together: `all`, `lines 1-150, 200-`, `line 7`, `part`."""
    known = union(intervals)
    if not known:
        return "part"
    if known[0] == WHOLE:
        return "all"
    text = ", ".join([describe_interval(interval) for interval in known])
    return ("line " if text.isdigit() else "lines ") + text
