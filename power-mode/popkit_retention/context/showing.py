"""Layer 3: the files that enter with a request: those that the user's words refer to and that the conversation does not show. Pure but for
its source."""

from __future__ import annotations

from .dialogue import Addition
from .references import referenced
from .said import REQUEST
from .shown import as_text, is_shown, shown_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from .dialogue import Dialogue
    from .models import PruningStrategy
    from .sources import FileSource

FILE, OUTLINE = "file", "outline"
KINDS = (FILE, OUTLINE)
# Tokens of one file; a longer one enters as its outline. Tokens that all files together may have.
MOST_OF_ONE, MOST_TOKENS = 8_000, 24_000
# The user's newest messages, whose words are looked at.
_REQUESTS = 10


def entering(
    source: FileSource, dialogue: Dialogue, sent: Sequence[Any], strategy: PruningStrategy, standing: Collection[Addition], room: float
) -> list[Addition]:
    """The files that enter with a request, those first that were referred to last; none that stands already as it is now, in a call's
    result or as it entered before. `sent`: the messages as they go out. `room`: tokens there are for files."""
    if strategy.tier3_mode == "none":
        return []
    meter, shown = dialogue.meter, shown_files(sent)
    known = {addition.key for addition in standing if addition.kind in KINDS}
    room = min(room, MOST_TOKENS - sum([meter.text(addition.text) for addition in standing if addition.kind in KINDS]))
    found: list[Addition] = []
    for path in referenced(_words(dialogue)):
        file = source.read(path, with_outline=True)
        if file is None or f"{file.path}@{file.stamp}" in known or is_shown(file, shown):
            continue
        whole = strategy.tier3_mode == "full" and meter.text(file.text) <= MOST_OF_ONE
        text = as_text([file], "full" if whole else "summary")
        if text.strip() and meter.text(text) <= room:
            found.append(Addition(FILE if whole else OUTLINE, f"{file.path}@{file.stamp}", text))
            known.add(found[-1].key)
            room -= meter.text(text)
    return found


def _words(dialogue: Dialogue) -> list[dict[str, Any]]:
    """What the user said of late, as messages."""
    requests = [said for said in dialogue.said if said.part == REQUEST][-_REQUESTS:]
    return [{"role": "user", "content": "\n".join(said.texts)} for said in requests]
