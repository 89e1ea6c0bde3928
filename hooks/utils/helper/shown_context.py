"""Track the results that a context shows, as far as the door knows: by number, with their lines. Read transcripts to learn what was said
before the door was there."""

from __future__ import annotations

from ..hosts.transcripts import entries, usage
from ..hosts.transcripts.blocks import text_of_blocks
from ..io.codec import as_object
from ..policy import door
from ..policy.door import Lines
from ..policy.hashed import Numbers
from ..policy.lacking import has_begun_clearing, is_near_clearing, lacking_steps
from ..policy.messages import Use
from ..policy.placeholder import handle_in
from ..policy.ways import mask_ahead
from ..state import reconciling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from ..policy.context import Result
    from ..policy.door import Source
    from ..policy.lacking import Editing
    from ..policy.usage import Usage
    from ..state.site import Site


# The most bytes of what is shown, as they are counted below: more than a window of 1,000,000 tokens holds, so what was shown before
# that is in no context any more. It goes in large steps, for each step builds the index of what stays again.
MOST_BYTES, _KEPT = 11_000_000, 0.8
_LINE_BYTES = 75  # a line's part of the index
_CALL = "call "  # before the id of a result: what its call shows (policy/door)
# The newest answer is within this many bytes of a transcript's end, or comes a little later.
_TAIL_BYTES = 64 * 1024


class Context:
    """`shown`: the lines · `numbers`: id of a result in the context -> its number · `count` of results so far · `before`: the (tool, input)
    of the call before, if its result entered in part · `is_cut`: requests lack the oldest of them, or may · `newest` of the requests that
    have been answered, `grown`: tokens that have entered since it was seen · `weights`: id of what is shown -> its bytes, the oldest
    first."""

    __slots__ = ("before", "count", "floor", "grown", "is_cut", "newest", "numbers", "shown", "weight", "weights")

    def __init__(self) -> None:
        self.shown = door.ContextLines()
        self.weights: dict[str, int] = {}
        self.weight = 0
        self.numbers = Numbers()
        self.count = 0
        self.floor = 0  # of results up to the last compaction
        self.before: tuple[Any, ...] = ()
        self.newest: Usage | None = None
        self.grown = 0
        self.is_cut = False

    def arrive(self, id: str) -> int:
        """Return the number of a result that arrives now."""
        self.count += 1
        self.numbers[id] = self.count
        return self.count

    def show(self, source: Source) -> None:
        """Add lines that have entered; forget the oldest beyond what a window can hold."""
        self.shown.add(source)
        source.lines = lines = Lines(source.lines)
        self.weight -= self.weights.pop(source.id, 0)
        self.weights[source.id] = lines.bytes + _LINE_BYTES * len(lines)
        self.weight += self.weights[source.id]
        if self.weight > MOST_BYTES:
            self.lighten(round(_KEPT * MOST_BYTES))

    def lighten(self, most: int) -> None:
        """Forget the oldest shown lines, down to `most` bytes."""
        removed = []
        for id, weight in self.weights.items():
            if self.weight <= most:
                break
            self.weight -= weight
            removed.append(id)
        for id in removed:
            del self.weights[id]
        self.shown.forget(removed)

    def keep(self, ids: Collection[str]) -> None:
        """Keep only these results: what came after the last of them was taken back."""
        known = [id for id in ids if id in self.numbers]
        if len(known) == len(self.numbers):
            return
        self.newest, self.is_cut = None, False
        self.numbers = Numbers((id, self.numbers.get(id, 0)) for id in known)
        self.count = max(self.numbers.values(), default=self.floor)
        self.shown.keep({*known, *(_CALL + id for id in known)})
        self._weigh()
        self.before = ()

    def compacted(self) -> None:
        """Forget all shown lines: the conversation was folded. The host carries content over in a form of its own, so nothing leans on that
        either."""
        self.floor = self.count
        self.numbers = Numbers()
        self.shown = door.ContextLines()
        self._weigh()
        self.before = ()
        self.newest, self.is_cut = None, False

    def _weigh(self) -> None:
        """Weigh again what is shown, after it has become less."""
        self.weights = {id: weight for id, weight in self.weights.items() if id in self.shown.sources}
        self.weight = sum(self.weights.values())

    def read_newest_answer(self, transcript_path: str, editing: Editing | None) -> None:
        """Read the newest answer: from now on nothing leans on what its request lacked, as far as it says so, nor on what the next one may
        lack. The provider is asked to leave out what `editing` says; once a prompt is near its limit, that goes on."""
        newest = usage.newest_usage(transcript_path, _TAIL_BYTES)
        if newest is not None and (self.newest is None or newest.at > self.newest.at):
            self.newest, self.grown = newest, 0
        if self.newest is None:
            return
        lacking = self.newest.left_out[0]
        if editing is not None and (self.is_cut or is_near_clearing(editing, self.newest.tokens + self.grown)):
            self.is_cut = True
            lacking = max(lacking, len(self.numbers) - editing.keep)
        if lacking > 0:
            self.is_cut = True
            oldest = self.numbers.values()[:lacking]
            last = oldest[-1] if oldest else 0
            self.shown.drop({id for id in self.shown.sources if self.numbers.get(id.removeprefix(_CALL), last + 1) <= last})
            self._weigh()


def resumed_context(
    site: Site,
    transcript_path: str,
    agent_id: str,
    cwd: str,
    say_once: str,
    editing: Editing | None,
    later: Callable[..., None],
) -> Context:
    """Return the context of a resumed session, from its transcript; an empty one where none can be read. `cwd`: where the session began;
    `say_once`, `editing` and `later` as the door has them."""
    context = Context()
    try:
        rebuilt = reconciling.rebuilt(site, site.paths(agent_id), transcript_path)
        known = {result.id: result for result in rebuilt.conversation.results()}
        lacking = {id for step in lacking_steps(rebuilt.conversation, editing) for id in step.ids}
        context.is_cut = bool(lacking) or has_begun_clearing(rebuilt.conversation, editing)
        context.count = rebuilt.state.index
        called: dict[str, object] = {}
        for entry in entries.read(transcript_path, rebuilt.index.size, rebuilt.index.relevant):
            for block in entries.blocks_of(entry):
                result = known.get(block.get("tool_use_id") or "")
                if block.get("type") == "tool_use" and block.get("id") in known:
                    called[block["id"]] = block.get("input")
                elif block.get("type") == "tool_result" and result is not None:
                    context.numbers[result.id] = result.index
                    is_shown = not result.cleared and result.id not in lacking
                    arrival = _arrival(site, result, block if is_shown else {}, called.pop(result.id, None), cwd)
                    show_whole(context, arrival, say_once)
                    later(mask_ahead, Use(arrival.id, arrival.traits, arrival.tool_input))
        context.floor = min(context.numbers.values(), default=context.count + 1) - 1
    except (OSError, ValueError):
        return context
    return context


def _arrival(site: Site, result: Result, block: dict[str, object], tool_input: object, cwd: str) -> door.Arrival:
    """Return a result as it arrived. `block`: its block, {} for one that is shown no more (its call is still named); `tool_input`: of its
    call."""
    fields, tool = as_object(tool_input), site.tools.of(result.tool)
    text = text_of_blocks(block.get("content"))[0]
    return door.Arrival(
        result.id, tool, fields, result.kind, door.name_of(tool, fields, cwd), text,
        result.error or not block, door.path_of(tool, result.subjects, result.parts),
    )  # fmt: skip


def show_whole(context: Context, arrival: door.Arrival, say_once: str) -> None:
    """Show a result that is in the context as it is, and the call that it answers."""
    wrote = door.written(arrival) if say_once == door.ANY else None
    if wrote is not None:
        context.show(wrote)
    context.show(door.source_of(arrival, "" if handle_in(arrival.text) else arrival.text))  # a placeholder shows nothing
