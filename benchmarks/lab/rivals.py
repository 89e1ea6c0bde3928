"""Policies that follow the rules of other tools for clearing tool results, from the descriptions that they publish. Pure.

Each clears at the moment at which its tool would, and puts the tool's own text in the place of a result, or one as long as that where the
wording is not published. Rules about anything but tool results (inputs of calls, thinking, images) are left out.
"""

from __future__ import annotations

import re

from popkit_retention.core.policy.calls import verdict_of
from popkit_retention.core.policy.tools import DELEGATE, EDITS, PLAN, READ, SEARCH, SHELL, SKILL, TASKS
from popkit_retention.lab.policy import Choice, View
from popkit_retention.lab.recorded import Block

from .rules import Marking, Rule, bytes_of, is_edit, label_of, lines_of, path_of, signature, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.events import Event


class ContextEditing(Rule):
    """Anthropic's clear_tool_uses: once the prompt is larger than `trigger` tokens, all results but the last `keep`, oldest first; nothing
    where that would be less than `at_least` tokens."""

    reason = "the prompt was over its limit"

    def __init__(self, trigger: int = 100_000, keep: int = 3, at_least: int = 0):
        super().__init__()
        self.trigger = trigger
        self.keep = keep
        self.at_least = at_least

    def picks(self, view: View) -> list[Block]:
        if view.base + sum(view.sizes) <= self.trigger:
            return []
        picked = self.all_but_last(self.keep)
        return picked if sum(block.tokens for block in picked) >= self.at_least else []


class OpencodePrune(Rule):
    """At the end of the assistant's turn: backwards from the last two user turns, results behind the newest 40,000 tokens go if they are
    more than 20,000 together. A token is four characters. The walk ends where one was cleared before; skills stay."""

    protect, least, turns = 40_000, 20_000, 2
    reason = "old, and many tokens together"

    def __init__(self) -> None:
        super().__init__()
        self.due: list[Block] = []

    def considers(self, block: Block) -> bool:
        return block.call.operation != SKILL

    def event(self, event: Event) -> None:
        if event.name == "prompted":
            self.due = self._walk()
        super().event(event)

    def _walk(self) -> list[Block]:
        picked, total, leaving = [], 0, 0
        for block in reversed(self.results):
            if not self.considers(block):
                continue
            if block not in self.live:
                break
            if self.users - self.live[block].users < self.turns:
                continue
            size = round(len(block.text) / 4)
            total += size
            if total > self.protect:
                picked.append(block)
                leaving += size
        return picked[::-1] if leaving > self.least else []

    def picks(self, view: View) -> list[Block]:
        due, self.due = self.due, []
        return [block for block in due if block in self.live]


class Masking(Rule):
    """Observation masking: all but the last `keep` results."""

    reason = "an old observation"

    def __init__(self, keep: int = 10):
        super().__init__()
        self.keep = keep

    def picks(self, view: View) -> list[Block]:
        return self.all_but_last(self.keep)

    def text(self, block: Block) -> str:
        return f"Old environment output: ({lines_of(block)} lines omitted)"


class Dedupe(Marking):
    """opencode-dcp: the same call again makes the earlier result go. There it happens when the model calls `compress`, which has no
    counterpart here; so at once. Its other rule, for failed calls, concerns their inputs."""

    placeholder = "[Output removed to save context - information superseded or no longer needed]"
    reason = "the same call came again"
    protected = EDITS | {DELEGATE, PLAN, SKILL, TASKS}

    def forget(self) -> None:
        self.newest: dict[str, Block] = {}

    def considers(self, block: Block) -> bool:
        return block.call.operation not in self.protected

    def mark(self, block: Block) -> None:
        if self.considers(block):
            again = self.newest.get(signature(block))
            if again is not None:
                self.stale.add(again)
            self.newest[signature(block)] = block


class StaleReads(Marking):
    """Reads whose file is edited later, of at least `least` characters: headroom's ReadLifecycle, cozempic's stale-reads. (That cozempic
    looks for the result within four messages of its call holds for all but very wide parallel calls.)"""

    reason = "its file was edited"

    def __init__(self, least: int, wording: str):
        self.least = least
        self.wording = wording
        super().__init__()

    def forget(self) -> None:
        self.reads: dict[str, list[Block]] = {}

    def considers(self, block: Block) -> bool:
        return block.call.operation == READ and bytes_of(block) >= self.least

    def mark(self, block: Block) -> None:
        if self.considers(block):
            self.reads.setdefault(path_of(block), []).append(block)
        elif is_edit(block):
            self.stale.update(self.reads.pop(path_of(block), ()))

    def text(self, block: Block) -> str:
        return self.wording.format(path=path_of(block), lines=lines_of(block), kb=bytes_of(block) / 1024)


class CozempicAges(Rule):
    """cozempic's tool-result-age: a stub after 40 prompts of the user, where there are at least 100 characters. Its changes from the 15th
    on (diffs and JSON written shorter) are left out."""

    prompts, least = 40, 100
    reason = "40 prompts old"

    def considers(self, block: Block) -> bool:
        return len(block.text) >= self.least

    def picks(self, view: View) -> list[Block]:
        return [block for block, born in self.live.items() if self.users - born.users >= self.prompts]

    def text(self, block: Block) -> str:
        return f"[cozempic: {block.call.tool} {label_of(block)} — {lines_of(block)} lines, {bytes_of(block) / 1024:.1f} KB]"


_TRIMWIRE_WINDOWS = {READ: 4, DELEGATE: 8}


class Trimwire(Marking):
    """trimwire's windows, in requests: repeated calls; reads that a re-read or an edit made stale, older than 4; reads over 16 KB of a path
    read once, older than 4; results over 4 KB cut to their first and last 2 KB when older than 2 (reads 4, subagents 8), gone when older
    than 16; searches and views of a browser older than 2. Decided again when 8 messages or 128 KB have been added since the last time."""

    reason = "outside its window"
    messages, added = 8, 128 * 1024
    end = 2 * 1024
    sliding = re.compile("screenshot|navigate|click|browser_act")

    def __init__(self) -> None:
        super().__init__()
        self.checked = self.bytes = 0
        self.shortened: set[Block] = set()

    def forget(self) -> None:
        self.newest: dict[str, Block] = {}
        self.reads: dict[str, list[Block]] = {}  # path -> Blocks
        self.outdated: set[Block] = set()

    def considers(self, block: Block) -> bool:
        return block.call.operation not in EDITS

    def mark(self, block: Block) -> None:
        self.bytes += bytes_of(block)
        path = path_of(block)
        if is_edit(block):
            self.outdated.update(self.reads.get(path, ()))
        if block.call.operation == READ:
            self.outdated.update(self.reads.get(path, ()))
            self.reads.setdefault(path, []).append(block)
        if block.call.operation != DELEGATE and self.considers(block):
            key = signature(block)
            if key in self.newest:
                self.stale.add(self.newest[key])
            self.newest[key] = block

    def decide(self, view: View) -> list[Choice]:
        # A request is answered by one message and followed by one.
        if 2 * (self.requests - self.checked) <= self.messages and self.bytes <= self.added:
            return []
        self.checked, self.bytes = self.requests, 0
        choices: list[Choice] = []
        for block, born in list(self.live.items()):
            age = self.requests - born.requests
            if self._goes(block, age):
                del self.live[block]
                choices.append((block, f"[trimwire: {block.call.tool} {label_of(block)} ({bytes_of(block)} B) removed]", [self.reason]))
            elif block not in self.shortened and age > _TRIMWIRE_WINDOWS.get(block.call.operation, 2) and bytes_of(block) > 2 * self.end:
                self.shortened.add(block)
                left_out = f"\n[trimwire: {bytes_of(block) - 2 * self.end} B removed]\n"
                choices.append((block, block.text[: self.end] + left_out + block.text[-self.end :], ["large"]))
        return choices

    def missed(self, block: Block) -> None:
        self.live.pop(block, None)

    def _goes(self, block: Block, age: int) -> bool:
        size = bytes_of(block)
        if block in self.stale or (age > 16 and size > 2 * self.end):
            return True
        if age > 4 and block.call.operation == READ and size > 16 * 1024 and len(self.reads.get(path_of(block), ())) < 2:
            return True
        slides = block.call.operation == SEARCH or bool(self.sliding.search(block.call.tool))
        return (age > 4 and block in self.outdated) or (age > 2 and slides)


class Pichay(Rule):
    """Results older than four user turns, of at least 500 bytes; errors never. A file that was paged out and is read again with the same
    content stays from then on, until its content changes."""

    turns, least = 4, 500
    reason = "older than four user turns"

    def __init__(self) -> None:
        super().__init__()
        self.paged: dict[str, str] = {}  # path -> hash of the content that was paged out
        self.pinned: dict[str, str] = {}

    def considers(self, block: Block) -> bool:
        return not block.call.outcome.error and bytes_of(block) >= self.least

    def add(self, block: Block) -> None:
        super().add(block)
        if block.id and block.call.operation == READ and not block.call.outcome.error:
            path, content = path_of(block), block.call.outcome.content_hash
            if content and self.paged.get(path) == content:
                self.pinned[path] = content
            elif self.pinned.get(path) != content:
                self.pinned.pop(path, None)

    def picks(self, view: View) -> list[Block]:
        picked = [block for block, born in self.live.items() if self.users - born.users > self.turns and not self._is_pinned(block)]
        for block in picked:
            if block.call.operation == READ:
                self.paged[path_of(block)] = block.call.outcome.content_hash
        return picked

    def _is_pinned(self, block: Block) -> bool:
        return block.call.operation == READ and self.pinned.get(path_of(block), "") == block.call.outcome.content_hash != ""

    def text(self, block: Block) -> str:
        return f"[Paged out: {block.call.tool} {label_of(block)} ({bytes_of(block)} bytes, {lines_of(block)} lines). Re-read if needed.]"


class Wet(Rule):
    """wet's automatic mode: results of Bash three requests old (`git status` two, pytest one), not errors, images or fewer than 100 tokens.
    Its compressors are assumed to leave the line of an output that shows the outcome."""

    least = 100
    reason = "stale"
    turns, families = 3, ((re.compile(r"\bgit\s+(?:-[Cc]\s+\S+\s+|-\S+\s+)*status\b"), 2), (re.compile(r"\bpytest\b"), 1))

    def considers(self, block: Block) -> bool:
        outcome = block.call.outcome
        return block.call.operation == SHELL and not outcome.error and not outcome.image_tokens and block.tokens >= self.least

    def picks(self, view: View) -> list[Block]:
        return [block for block, born in self.live.items() if self.requests - born.requests >= self._turns_of(block)]

    def _turns_of(self, block: Block) -> int:
        command = text_of(block.call.tool_input, "command")
        return next((turns for pattern, turns in self.families if pattern.search(command)), self.turns)

    def text(self, block: Block) -> str:
        return f"[wet: {label_of(block)}: {lines_of(block)} lines; {verdict_of(block.text[-4_000:], None)}]"
