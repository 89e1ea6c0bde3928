"""End the lifetimes of what shows files that have changed: by an edit, by a commit, or on disk. Pure, part of the engine."""

from __future__ import annotations

from . import parts
from .lifecycle import end, end_parts, may_expire
from .tools import READ

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from .calls import Call
    from .classify import Classification
    from .context import ContextState, Result
    from .events import FilesChanged
    from .lifecycle import Decision
    from .ruleset import Ruleset

_FILES = ("files",)  # of a working tree, what an edit changes


def follow(state: ContextState, rules: Ruleset, call: Call, classified: Classification, decisions: list[Decision]) -> None:
    """End what a call has changed: the files that it edited or committed, and the trees that it changed."""
    for path in classified.edits:
        expire_file(state, rules, path, "edited", classified.label, call.id, decisions)
        expire_tree(state, rules, path, _FILES, "edited", classified.label, call.id, decisions)
        state.edits[str(state.turn)] = state.index
    if classified.commits:
        expire_committed(state, rules, call.committed, classified.label, call.id, decisions)
    for folder, changed, _ in classified.changes:
        trigger = "committed" if classified.commits else "changed_on_disk"
        expire_tree(state, rules, folder, changed, trigger, classified.label, call.id, decisions)


def on_files_changed(state: ContextState, event: FilesChanged, rules: Ruleset, decisions: list[Decision]) -> None:
    """End what shows files that changed on disk, or are gone."""
    state.at = event.at
    for path, how in event.changes.items():
        expire_file(state, rules, path, "changed_on_disk", how, "", decisions)
        expire_tree(state, rules, path, _FILES, "changed_on_disk", f"{path} was {how}", "", decisions)


def expire_file(state: ContextState, rules: Ruleset, path: str, trigger: str, why: str, by: str, decisions: list[Decision]) -> None:
    """End the reads of a file; a result that shows other files too lives on until the last of them is gone."""
    key = "read:" + path
    for result in list(state.by_key.get(key, {}).values()):
        if not may_expire(result) or not ends_with_files(result, rules, trigger):
            continue
        # Of another file, or a run, it shows more than what was found beside it.
        shows_more = any(part[0] != key and not part[0].startswith("search:") for part in result.parts)
        dead = [part for part in result.parts if part[0] == key] if shows_more else result.parts
        end_parts(state, result, dead, trigger, [_FILE_REASONS[trigger] + why], decisions, by)


_FILE_REASONS = {
    "edited": "its file was edited: ",
    "committed": "its file was committed: ",
    "changed_on_disk": "its file changed on disk: ",
}


def ends_with_files(result: Result, rules: Ruleset, trigger: str = "edited") -> bool:
    """Return whether a result that shows files ends when they are edited or change on disk, or (for the trigger `committed`) with a commit:
    where its tier says so, or that of reads, for what is stale is so in any tier."""
    event = "commit" if trigger == "committed" else "edit"
    return any(event in rules.tier_rule(tier).events for tier in (result.tier, rules.tier_of_operation(READ)))


def file_events(result: Result, rules: Ruleset) -> list[str]:
    """Return those of edit and commit that can end a live result by what it shows."""
    shown = [part for part in result.parts if part[0].startswith("read:") or part[0] == parts.TREE]
    edited = any(part[0] != parts.TREE or part[1][1] in _FILES for part in shown)
    events = ["edit"] if edited and ends_with_files(result, rules) else []
    return [*events, "commit"] if shown and ends_with_files(result, rules, "committed") else events


def expire_tree(
    state: ContextState, rules: Ruleset, place: str, changed: Collection[str], trigger: str, why: str, by: str, decisions: list[Decision]
) -> None:  # fmt: skip
    """End what git has shown of a working tree that has changed at a file, or in the repository of a folder."""
    for result in list(state.by_key.get(parts.TREE, {}).values()):
        dead = [part for part in result.parts if parts.is_shown(part, place, changed)]
        if dead and may_expire(result) and ends_with_files(result, rules, trigger):
            end_parts(state, result, dead, trigger, ["the working tree has changed since: " + why], decisions, by)


def expire_committed(state: ContextState, rules: Ruleset, files: list[str] | None, why: str, by: str, decisions: list[Decision]) -> None:
    """End the reads of the files in a commit; where git cannot say which these are, every result of a tier that ends with commits, but no
    file of another commit."""
    if files is not None:
        for path in files:
            expire_file(state, rules, path, "committed", why, by, decisions)
        return
    for result in list(state.live.values()):
        if result.parts and all(part[0].startswith(parts.REVISION) for part in result.parts):
            continue
        if may_expire(result) and "commit" in rules.tier_rule(result.tier).events:
            end(state, result, "committed", ["a commit whose files git could not list: " + why], decisions, by)
