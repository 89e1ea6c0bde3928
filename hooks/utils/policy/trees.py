"""Track which working tree of a repository a run belongs to. Pure, part of the engine.

It is that of its branch and the edits since, or one that is there for a while only (a stash, another branch or commit). Where a command has
switched the environment for all that follows, that is part of it too.

A run of one tree says nothing about another: it carries the tree's name in its scope, so that only runs there end each other. The tree that
a session begins with has no name, and edits, commits and merges do not give it another.
"""

from __future__ import annotations

from . import parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .calls import Call
    from .classify import Classification
    from .context import ContextState

_STASHED = "+stash"
_UNSTASHED = "+unstashed"
# Before the name of a command that switches the environment, which stands where the folder of a repository does.
_SWITCHED = "!"
_FORMS = (("do", " "), ("run", ":"), ("run", "@"))
_MOST_NAMES = 32
# What git says where a name that looks like a file's is that of a branch or a commit.
_MOVED = ("Switched to ", "HEAD is now at ", "switching to ")
# What git says where it stays in the tree in which it is.
_STAYED = ("would be overwritten", "did not match any file", "error: pathspec", "fatal: ", "No local changes to save", "Already on ")


def follow(state: ContextState, classified: Classification, call: Call) -> None:
    """Give the parts of a call the name of the tree that they belong to, and move with the call to others."""
    moves = [
        (at, folder, how, name)
        for at, (folder, how, name), ran in classified.moves
        if _was_done(call, at, ran, classified) and (how != "perhaps" or any(text in call.outcome.tail for text in _MOVED))
    ]
    next_move = 0
    for at, part in enumerate(classified.parts):
        while next_move < len(moves) and moves[next_move][0] <= at:
            _move(state, *moves[next_move][1:])
            next_move += 1
        if part[0].startswith(("run:", "do:")) and not part[0].startswith("do:git "):
            name = _tree_at(state, part[0].rpartition("@")[2])
            names = [name] if name else []
            names += [switched["at"] for known, switched in state.trees.items() if known[:1] == _SWITCHED and _matters(known[1:], part[0])]
            if names:
                classified.parts[at] = parts.with_marks(part, [parts.TREE_OF + name for name in names])
    for move in moves[next_move:]:
        _move(state, *move[1:])


def _matters(switch: str, key: str) -> bool:
    """Return whether a switch to another environment makes what runs another."""
    from .commandline.programs import SWITCHES

    programs = SWITCHES.get(switch, ())
    return not programs or key.startswith(tuple([f"{kind}:{program}{end}" for program in programs for kind, end in _FORMS]))


def _was_done(call: Call, at: int, ran: int, classified: Classification) -> bool:
    if ran == parts.UNSURE or any(text in call.outcome.tail for text in _STAYED):
        return False
    if not call.outcome.error:
        return True
    # Something in the line has failed: what follows is there only if the move was not it.
    return ran == parts.ALWAYS and at < len(classified.parts)


def _tree_at(state: ContextState, folder: str) -> str:
    known = _repository_of(state, folder)
    return state.trees[known]["at"] if known else ""


def _repository_of(state: ContextState, folder: str) -> str:
    """Return the folder under which the repository of a folder is known; "" for none."""
    for known in state.trees:
        if known[:1] == _SWITCHED:
            continue
        if known == folder or parts.lies_in(known, folder) or parts.lies_in(folder, known):
            return known
    return ""


def _move(state: ContextState, folder: str, how: str, name: str) -> None:
    if folder.startswith(parts.UNKNOWN):
        return
    if not folder:
        state.trees[_SWITCHED + how] = {"at": name, "before": ""}
        return
    known = _repository_of(state, folder) or folder
    if how == "again" and (known not in state.trees or state.trees[known]["at"] != "@" + name):
        return
    tree = state.trees.setdefault(known, {"at": "", "before": ""})
    at = tree["at"]
    if how == "stash":
        tree["at"] = at + _STASHED
    elif how == "unstash":
        tree["at"] = at[: -len(_STASHED)] if at.endswith(_STASHED) else at + _UNSTASHED
    elif how == "back" or how == "again":
        tree["at"], tree["before"] = tree["before"], at
    elif how == "named":
        tree["=" + name] = at
        tree["before"] = at
    else:
        named = "=" + name
        if named not in tree and len(tree) < _MOST_NAMES:
            tree[named] = "@" + name
        tree["before"] = at
        tree["at"] = tree.get(named, "@" + name)
