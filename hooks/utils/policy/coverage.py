"""Whether one part covers another: what was looked at again is obsolete. Pure."""

from __future__ import annotations

from . import parts
from .parts import MARKS, below, is_number, unmarked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .parts import Part

# In these a package is run only when it is named, or when all are.
_NAMED_PACKAGES = ("run:npm:", "run:cargo:")
_ALL_PACKAGES = (parts.MORE + "--workspace", parts.MORE + "--all")


def covers(new: Part, old: Part) -> bool:
    """Return whether the result of part `new` makes that of part `old` obsolete."""
    key, scope = new
    if key != old[0] or key.endswith("@?") or key.startswith((parts.FILE + parts.UNKNOWN, parts.REVISION + parts.UNKNOWN)):
        return False
    if parts.is_of_lines(new):
        return _lines_cover(scope, old[1])
    if key == parts.TREE:
        new_shows, old_shows = scope[2:], old[1][2:]
        same = scope[0] == old[1][0] and scope[1] == old[1][1]
        return same and _marks_cover(new_shows, old_shows) and _inside(unmarked(old_shows), unmarked(new_shows))
    if not _marks_cover(scope, old[1]):
        return False
    if key.startswith("search:"):
        return _inside(unmarked(old[1]), unmarked(scope))
    if key.startswith("run:"):
        return _run_covers(key, scope, old[1])
    return True


def _marks_cover(new: list[str], old: list[str]) -> bool:
    """Return whether a look with the marks of `new` shows at least what one with those of `old` has shown."""
    for item in new:
        if (
            item.startswith(MARKS)
            and item[:2] != parts.MORE
            and item not in old
            and not (item[:2] == parts.LESS and _reaches(item, old, parts.AT_MOST))
        ):
            return False
        if item[:2] == parts.OTHERWISE and (item[2:3] == parts.UNKNOWN or parts.has_variable(_without_known(item))):
            return False
    return all(
        item in new or (item[:2] == parts.MORE and _reaches(item, new, parts.AT_LEAST))
        for item in old
        if item.startswith(MARKS) and item[:2] != parts.LESS
    )


def _without_known(item: str) -> str:
    """Return a mark without the variables that are the same in each command of a session."""
    for name in ("PATH", "HOME", "PWD", "USER"):
        if name in item:
            item = item.replace("${" + name + "}", "").replace("$" + name, "")
    return item


def _reaches(item: str, others: list[str], sign: str) -> bool:
    """Return whether one of `others` is the same limit with a number that is no greater (AT_MOST) or no smaller (AT_LEAST)."""
    name, _, number = item.rpartition(sign)
    if not name or not is_number(number):
        return False
    for other in others:
        same, _, limit = other.rpartition(sign)
        if same == name and is_number(limit) and (int(limit) <= int(number) if sign == parts.AT_MOST else int(limit) >= int(number)):
            return True
    return False


def _lines_cover(new: list[int], old: list[int]) -> bool:
    start, end = new
    if start < 1:
        return False
    if start == 1 and end == 0:
        return True
    return start <= old[0] and (end == 0 or 0 < old[1] <= end)


def _inside(old: list[str], new: list[str]) -> bool:
    """Return whether every item of `old` is, or is below, one of `new`; the empty list is everything."""
    if not new:
        return True
    if not old:
        return False
    for item in old:
        if item.startswith(parts.UNKNOWN):
            return False
        if item not in new and not any(below(item, root) for root in new):
            return False
    return True


def _run_covers(key: str, new: list[str], old: list[str]) -> bool:
    """Do as `_inside` in three dimensions: paths and packages may be wider, a selection by name must be absent or the same."""
    if not new and not old:
        return True
    selected = [item for item in new if item.startswith(parts.SELECTION)]
    if selected and selected != [item for item in old if item.startswith(parts.SELECTION)]:
        return False
    packages = [item for item in new if item.startswith(parts.PACKAGE)]
    wanted = [item for item in old if item.startswith(parts.PACKAGE)]
    if parts.PACKAGE + parts.EVERY in packages:
        if not wanted:
            return False  # the root has a script of its own
    elif packages:
        if not wanted or not set(packages).issuperset(wanted):
            return False
    elif wanted and key.startswith(_NAMED_PACKAGES) and not any(item in new for item in _ALL_PACKAGES):
        return False
    marks = (parts.SELECTION, parts.PACKAGE, *MARKS)
    return _inside([i for i in old if not i.startswith(marks)], [i for i in new if not i.startswith(marks)])
