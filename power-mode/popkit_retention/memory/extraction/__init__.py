"""What a session teaches, from its transcript, without a model. Reads only.

Only what the assistant wrote, what it ran and what the user told it to keep to: never the contents of files, which change, never a summary
of its own, and never a secret.
"""

from __future__ import annotations

from pathlib import Path

from hooks.utils.hosts.claude_code.tools import TOOLS
from hooks.utils.policy import kinds
from hooks.utils.policy.classify import classify
from hooks.utils.policy.estimate import estimate_tokens
from hooks.utils.policy.ruleset import Ruleset

from ..items import NOTE
from ..lessons import Lesson, Observed
from .commands import Commands
from .directives import directives
from .names import Names
from .reading import Asked, Returned, Wrote, conversation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hooks.utils.edges.repository import Repository


def lesson(path: str, repository: Repository, session: str = "") -> Lesson:
    """What the session of a transcript teaches about a repository, `root` being the checkout that it worked in; OSError when it cannot be
    read. `session`: its id, where that is not the name of the file."""
    names, commands, rules = Names(repository.root), Commands(repository.root), Ruleset.from_config({}, TOOLS)
    notes: dict[str, float] = {}
    began = ended = 0.0
    lookups = tokens = 0
    for told in conversation(path):
        at = told.call.at if isinstance(told, Returned) else told.at
        began, ended = min(began or at, at or began), max(ended, at)
        if isinstance(told, Asked):
            names.hear(told.text)
            if told.by_user:
                notes.update(dict.fromkeys(directives(told.text), at))
        elif isinstance(told, Wrote):
            names.write(told)
        else:
            names.see(told.text)
            commands.see(told.call, told.text, told.cwd)
            if kinds.of(classify(told.call, told.cwd or repository.root, rules).kind).is_lookup:
                lookups += 1
                tokens += estimate_tokens(told.text)
    observed = [Observed(NOTE, text, 1, at) for text, at in notes.items()] + commands.observed() + names.observed()
    texts = {each.text for each in observed}
    id = session or Path(path).stem
    return Lesson(id, repository.key, began, ended, tuple(observed), tuple(sorted(names.unaided & texts)), lookups, tokens, repository.root)
