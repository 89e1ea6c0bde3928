"""Read Claude Code's own memory of a project: MEMORY.md, which every session is given, with topic files, which the model reads when it
needs them."""

from __future__ import annotations

from ...io import files, home
from ...io.system import join
from ..own_memory import OwnMemory
from ..transcripts.projects import folder_name, folder_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DOCUMENT = "MEMORY.md"
# What the host gives a session of its MEMORY.md, and what we read of a topic.
MOST_LINES, MOST_BYTES = 200, 25_000
MOST_TOPICS = 50


def own_memory(environ: Mapping[str, str], root: str) -> OwnMemory:
    """Return what the host remembers of the project whose checkout is at `root`; an empty one where it keeps none."""
    try:
        folder = join(folder_of(environ), folder_name(root), "memory")
    except home.NoHome:
        return OwnMemory("")
    named = [name for name in files.names(folder) if name.endswith(".md")]
    texts = {name: _text(join(folder, name)) for name in named[: MOST_TOPICS + 1]}
    document = "\n".join(texts.pop(DOCUMENT, "").split("\n")[:MOST_LINES])
    return OwnMemory(folder, document, texts)


def _text(path: str) -> str:
    try:
        return files.read_text(path, MOST_BYTES) or ""
    except OSError:
        return ""
