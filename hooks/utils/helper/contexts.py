"""What one context shows, as far as the door knows: the results that stand in it by number, and their lines. Reads transcripts to learn
what was said before the door was there.
"""

from __future__ import annotations

from ..host import entries, responses
from ..policy import door
from ..policy.placeholder import handle_in
from ..state import live

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from ..policy.context import Result
    from ..state.site import Site


class Context:
    """`shown`: the lines · `numbers`: id of a result that stands -> its number · `count` of results so far · `before`: the (tool, input) of
    the call before, if its result entered in part."""

    __slots__ = ("before", "count", "floor", "numbers", "shown")

    def __init__(self) -> None:
        self.shown = door.Shown()
        self.numbers: dict[str, int] = {}
        self.count = 0
        self.floor = 0  # of results up to the last compaction
        self.before: tuple[Any, ...] = ()

    def arrive(self, id: str) -> int:
        """The number of a result that comes now."""
        self.count += 1
        self.numbers[id] = self.count
        return self.count

    def keep(self, ids: Collection[str]) -> None:
        """Only these stand in the context: what came after the last of them was taken back."""
        kept = {id: number for id, number in self.numbers.items() if id in ids}
        if len(kept) == len(self.numbers):
            return
        self.numbers = kept
        self.count = max(kept.values(), default=self.floor)
        self.shown.keep({*kept, *("call " + id for id in kept)})
        self.before = ()

    def compacted(self) -> None:
        """The conversation was folded: nothing that was shown is shown any more. What the host carries over is shown as it shows it, so
        nothing leans on that either."""
        self.floor = self.count
        self.numbers = {}
        self.shown = door.Shown()
        self.before = ()


def learnt(site: Site, transcript_path: str, agent_id: str = "") -> Context:
    """The context of a session that goes on, from its transcript; an empty one where there is none that can be read."""
    context = Context()
    try:
        made = live.rebuilt(site, site.paths(agent_id), transcript_path)
        known = {result.id: result for result in made.conversation.results()}
        context.count = made.state.index
        for entry in entries.read(transcript_path, made.index.size, made.index.telling):
            for block in entries.blocks_of(entry):
                result = known.get(block.get("tool_use_id") or "")
                if block.get("type") == "tool_result" and result is not None:
                    context.numbers[result.id] = result.index
                    _show(context, result, block)
        context.floor = min(context.numbers.values(), default=context.count + 1) - 1
    except (OSError, ValueError):
        return context
    return context


def _show(context: Context, result: Result, block: dict[str, Any]) -> None:
    content = block.get("content")
    if handle_in(content):
        return  # a placeholder shows nothing
    text = responses.text_of_blocks(content)[0]
    arrival = door.Arrival(
        result.id, result.tool, {}, result.kind, name_of(result.index, result.label), text, path=path_of(result.tool, result.subjects)
    )
    context.shown.add(door.source_of(arrival, text))


def name_of(number: int, label: str) -> str:
    """What a result is called in a reference: its number, and what a person sees of it."""
    return f"T{number}, {label}"


def path_of(tool: str, subjects: list[str]) -> str:
    """The file that a Read shows; "" for any other tool."""
    return subjects[0] if tool == "Read" and subjects else ""
