"""Layer 3: the files that enter with a request: those that the user's words refer to and that the conversation does not show. Pure but for
its source."""

from __future__ import annotations

from .dialogue import Addition
from .references import referenced
from .said import REQUEST
from .shown import is_shown, shown_files, summary, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from .dialogue import Changes, Dialogue
    from .metering import Meter
    from .models import PruningStrategy
    from .sources import FileSource, FileText

FILE, OUTLINE = "file", "outline"
KINDS = (FILE, OUTLINE)
# Tokens of one file; a longer one enters as its outline. Tokens that all files together may have.
MOST_OF_ONE, MOST_TOKENS = 8_000, 24_000
# The user's newest messages, whose words are looked at.
_REQUESTS = 10


def entering(
    source: FileSource, dialogue: Dialogue, changes: Changes, strategy: PruningStrategy, standing: Collection[Addition], room: float
) -> list[Addition]:
    """The files that enter with a request, those first that were referred to last; none that stands already as it is now, in a call's
    result or as it entered before. `room`: tokens there are for files."""
    if strategy.tier3_mode == "none":
        return []
    meter, shown = dialogue.meter, shown_files(dialogue.sent(changes))
    known = {addition.key for addition in standing if addition.kind in KINDS}
    room = min(room, MOST_TOKENS - sum([meter.text(addition.text) for addition in standing if addition.kind in KINDS]))
    found: list[Addition] = []
    for path in referenced(_words(dialogue)):
        file = source.read(path)
        if file is None or f"{file.path}@{file.stamp}" in known or is_shown(file, shown):
            continue
        kind, text = _as_it_enters(source, path, file, strategy, meter)
        if text and meter.text(text) <= room:
            found.append(Addition(kind, f"{file.path}@{file.stamp}", text))
            known.add(found[-1].key)
            room -= meter.text(text)
    return found


def _as_it_enters(source: FileSource, path: str, file: FileText, strategy: PruningStrategy, meter: Meter) -> tuple[str, str]:
    """The kind of its addition and its text. Parsing takes long, so only what enters as an outline is outlined."""
    if strategy.tier3_mode == "full" and meter.text(file.text) <= MOST_OF_ONE:
        return FILE, whole(file)
    outlined = source.read(path, with_outline=True)
    return OUTLINE, summary(outlined) if outlined is not None and outlined.stamp == file.stamp else ""


def _words(dialogue: Dialogue) -> list[str]:
    """What the user said of late."""
    requests = [said for said in dialogue.said if said.part == REQUEST][-_REQUESTS:]
    return ["\n".join(said.texts) for said in requests]
