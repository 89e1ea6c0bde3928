"""Read the actions of git: what it shows, what it changes, and to which tree it goes. Pure."""

from __future__ import annotations

from .. import kinds
from ..parts import EXCERPT, UNSURE, WHOLE, normal_path, revision_part
from . import worktree
from .action import Action, other, plain
from .command import word_at, written
from .looks import look_at
from .programs import GIT_KINDS, GIT_READS, GIT_VALUES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .place import Place
    from .wrappers import InnerCommand


def actions_of(inner: InnerCommand, stages: list, place: Place) -> list[Action]:
    """Return the actions of a command of git."""
    words, cwd, at = inner.words, inner.cwd, 1
    repository = "".join([item[8:] for item in (*inner.outer, *stages[place.deciding].assignments) if item.startswith("GIT_DIR=")])
    while at < len(words) and words[at][:1] == "-":
        name, equals, value = words[at].partition("=")
        if name in GIT_VALUES and not equals:
            at += 1
            value = word_at(words, at)
        at += 1
        if name == "-C":
            cwd = normal_path(value, cwd)
        elif name == "--git-dir":
            repository = value
    cwd = normal_path(repository, cwd).removesuffix("/.git") if repository else cwd
    command = word_at(words, at)
    if GIT_KINDS.get(command) == "content":
        from . import lookups
        from .file_commands import searched

        part, pattern = lookups.content_parts("git grep", words[at:], cwd, False)
        return searched(f"git grep {pattern}", part, stages, inner)
    if command in GIT_READS:
        found = _of_revisions(words[at:], stages, place.deciding, cwd)
        if found:
            return found
    if command in GIT_KINDS:
        action = plain(kinds.ACK, ["git commit"] if command == "commit" else ["git", *words[at:]], cwd, "", command == "commit")
        action.ran = UNSURE if command == "commit" else action.ran  # each is a commit of its own
    else:
        action = look_at(["git", *words[at:]], inner, stages, place.deciding, cwd) or other(stages, cwd)
        action.part = worktree.part_of(action.part, words[at:], cwd)
    action.changes = worktree.changes(words[at:], cwd)
    action.move = worktree.move(words[at:], cwd)
    return [action]


def _of_revisions(words: list[str], stages: list, deciding: int, cwd: str) -> list[Action]:
    """Return the reads of the files of commits that `git show REF:path` and its like show; none for anything else."""
    from . import reads
    from .file_commands import makes_another_output, read_action, seen_through

    files = reads.of_revisions(words)
    if not files:
        return []
    command, target = "git " + words[0], written(stages[-1])
    if target:
        return [plain(kinds.ACK, [*command.split(), "> " + target[-1]], cwd)]
    interval, behind = WHOLE, stages[deciding + 1 :]
    if behind:
        if makes_another_output(behind):
            return []
        interval = seen_through(stages[0], behind, WHOLE) if len(files) == 1 else EXCERPT
    return [read_action(command, f"{revision}:{path}", revision_part(revision, path, interval, cwd)) for revision, path in files]
