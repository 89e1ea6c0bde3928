"""Draft MEMORY.md, entry by entry, within its room. Pure.

Pinned entries come first, whatever they cost; then commands, notes and errors, up to their shares; then files, by their worth for the room
that they need, names in the room that files leave, and what notes, errors and commands are left in what remains. Room is in characters, as
the estimate of tokens counts them."""

from __future__ import annotations

import heapq

from popkit_retention.core.policy.estimate import CHARS_PER_TOKEN, estimate_tokens
from popkit_retention.core.policy.masking import MASK, mask
from popkit_retention.core.state.memory import MOST_BYTES, MOST_LINES
from popkit_retention.core.state.memory_records import COMMAND, CONTENT, ERROR, NAME, NOTE, PATH, PURPOSES, Entry
from popkit_retention.core.state.memory_text import FENCES, HEAD, LEGEND, TITLES, ending_of, folder_of, render, size, variant_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    Beside = dict[str, set[str]]  # the files of a folder: ending -> their names without it

# Tokens that commands may take, whatever the budget.
COMMANDS_TOKENS = 100
# The share of the room that notes and errors may each take before files and names are considered.
NOTES_SHARE, ERRORS_SHARE = 0.25, 0.08
# The room of an entry is estimated a little too high; the room left over is filled, too, in at most this many rounds.
_ROUNDS = 8
# So many entries of a kind, the best ones, are tried in the room that the others leave.
_LOOKED_AT = 1_000

SECRET = "contains a secret"  # noqa: S105
NO_ROOM = "worth less per token than the entries in it"


class Draft:
    """MEMORY.md in the making, in this many `tokens`. `entries`: those in it; `left_out`: (id, why) of all other items."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.room = self._room("")
        self.entries: list[Entry] = []
        self.left_out: list[tuple[str, str]] = []
        self.out: set[str] = set()
        self.sections: set[str] = set()
        self.moves: set[str] = set()  # folders that commands run in
        self.folders: set[str] = {""}
        self.tree: dict[str, Beside] = {}
        self.files: set[str] = set()
        self.has_legend = False

    def _room(self, text: str) -> float:
        return self.tokens * CHARS_PER_TOKEN[CONTENT] - size(text or HEAD)

    def leave_out(self, entry: Entry, why: str) -> None:
        """Record why an entry is not in the draft."""
        self.left_out += [(id, why) for id in entry.ids]
        self.out.update(entry.ids)

    def is_out(self, entry: Entry) -> bool:
        """Return whether an entry is decided: it is in the draft, or left out."""
        return entry.ids[0] in self.out

    def cost(self, entry: Entry) -> float:
        """Return the characters that an entry would add to the present draft."""
        chars, section = size(entry.text) + 2, entry.kind
        if entry.kind == PATH:
            chars = self._cost_of_file(entry, self.tree.get(entry.home, {})) + self._cost_of_folder(entry.home)
        elif entry.kind == COMMAND and (folder := folder_of(entry.text))[0] in self.moves:
            chars = size(folder[1]) + 2
        elif entry.kind == NAME and entry.home in self.files:
            section = PATH
            chars += 1
        elif entry.kind in (ERROR, NOTE):
            chars += 1
        elif entry.kind == NAME:
            chars += size(entry.home) + 2
        if section not in self.sections:
            chars += len(TITLES[section]) + 6 + (len(FENCES[section]) + 5 if section in FENCES else 0)
        return chars

    def _cost_of_file(self, entry: Entry, beside: Beside) -> float:
        """Return the characters of a file beside others, with which it may share its ending and its beginning."""
        mark = (1 if self.has_legend else len(LEGEND)) if entry.changed else 0
        stem, ending = ending_of(entry.text)
        others = beside.get(ending)
        if not stem or not others:
            return size(entry.text) + 2 + mark
        at = max(variant_of(stem, others), default=0)
        return size(stem[at:]) + (3 if at else 1) + mark

    def _cost_of_folder(self, folder: str) -> float:
        """Return the characters of a folder's line; 0 where the folder already has one."""
        if folder in self.folders and PATH in self.sections:
            return 0.0
        above = folder
        while above not in self.folders:
            above = above.rpartition("/")[0]
        return size(folder) - size(above) + above.count("/") + 4

    def add(self, entry: Entry) -> bool:
        """Add an entry, unless it holds a secret; return whether it was added."""
        if MASK in mask(f"{entry.home}/{entry.text}"):
            self.leave_out(entry, SECRET)
            return False
        self.room -= self.cost(entry)
        self.entries.append(entry)
        self.out.update(entry.ids)
        self.sections.add(PATH if entry.kind == NAME and entry.home in self.files else entry.kind)
        if entry.kind == COMMAND:
            self.moves |= {folder_of(entry.text)[0]} - {""}
        elif entry.kind == PATH:
            self.has_legend |= entry.changed
            self.files.add(entry.path)
            _put(entry, self.tree.setdefault(entry.home, {}))
            folder = entry.home
            while folder not in self.folders:
                self.folders.add(folder)
                folder = folder.rpartition("/")[0]
        return True

    def fill(self, entries: list[Entry]) -> None:
        """Add pinned entries, then commands, notes and errors up to their shares, then files and names that are worth most for their room,
        then whatever still fits."""
        ranked = sorted(entries, key=lambda entry: (-entry.weight, entry.text, entry.kind))
        self._fill_share([entry for entry in ranked if entry.held], self.room)
        self._fill_share(_by_turns([entry for entry in ranked if entry.kind == COMMAND]), COMMANDS_TOKENS * CHARS_PER_TOKEN[CONTENT])
        room = self.room
        self._fill_share([entry for entry in ranked if entry.kind == NOTE], NOTES_SHARE * room)
        self._fill_share([entry for entry in ranked if entry.kind == ERROR], ERRORS_SHARE * room)
        for kind in (PATH, NAME):
            rest = [entry for entry in entries if entry.kind == kind and not self.is_out(entry)]
            for _ in range(_ROUNDS):
                count = len(self.entries)
                rest = (self._fill_files if kind == PATH else self._fill_names)(rest)
                if len(self.entries) == count:
                    break
                self.room = self._room(render(self.entries))
        for kind in (NOTE, ERROR, COMMAND):  # shares that nobody else takes
            waiting = [entry for entry in ranked if entry.kind == kind and not self.is_out(entry)][:_LOOKED_AT]
            for _ in range(_ROUNDS):
                self.room, count = self._room(render(self.entries)), len(self.entries)
                self._fill_share(waiting, self.room)
                if len(self.entries) == count:
                    break
        for entry in entries:
            if not self.is_out(entry):
                self.leave_out(entry, NO_ROOM)

    def _fill_share(self, ranked: list[Entry], share: float) -> None:
        """Add entries, the first ones first, that fit into this many characters of the room."""
        least = max(0.0, self.room - share)
        for entry in ranked:
            if not self.is_out(entry) and self.room - self.cost(entry) >= least:
                self.add(entry)

    def _fill_names(self, names: list[Entry]) -> list[Entry]:
        """Add the names that are worth most for their room; return those for which there was none."""
        self._fill_share(sorted(names, key=lambda entry: (-entry.weight / self.cost(entry), entry.text)), self.room)
        return [entry for entry in names if not self.is_out(entry)]

    def _fill_files(self, files: list[Entry]) -> list[Entry]:
        """Add the files that are worth most for their room; return those for which there was none."""
        folders: dict[str, list[int]] = {}
        for place, entry in enumerate(files):
            folders.setdefault(entry.home, []).append(place)
        heap: list[tuple[float, str, int]] = []
        listed = {home for home, places in folders.items() if self._offer(files, places, heap)}
        while heap:
            _, _, place = heapq.heappop(heap)
            entry = files[place]
            if self.is_out(entry):
                continue
            places, is_added = folders[entry.home], self.cost(entry) <= self.room and self.add(entry)
            if entry.home not in listed:
                listed |= {entry.home} if self._offer(files, places, heap) else set()
            elif is_added:
                stem, ending = ending_of(entry.text)
                is_first = len(self.tree[entry.home][ending]) == 1
                self._offer(
                    files, [p for p in places if files[p].text.endswith(ending) and (is_first or files[p].text.startswith(stem))], heap
                )
        return [entry for entry in files if not self.is_out(entry)]

    def _offer(self, files: list[Entry], places: list[int], heap: list[tuple[float, str, int]]) -> bool:
        """Push files of one folder that there is room for, by their worth for it, and return True. For a folder without a line, push only
        the best file, valued at what the best of them are worth together, since they share the room of the line; return False."""
        waiting = [place for place in places if not self.is_out(files[place]) and self.cost(files[place]) <= self.room]
        if not waiting:
            return True
        line = self._cost_of_folder(files[waiting[0]].home)
        offered = sorted((-files[place].weight / (self.cost(files[place]) - line), files[place].text, place) for place in waiting)
        if not line:
            for each in offered:
                heapq.heappush(heap, each)
            return True
        worth, cost, best = 0.0, line, 0.0
        beside: Beside = {}
        for _, _, place in offered:
            worth += files[place].weight
            cost += self._cost_of_file(files[place], beside)
            best = max(best, worth / cost)
            _put(files[place], beside)
        heapq.heappush(heap, (-best, *offered[0][1:]))
        return False

    def fitted(self) -> str:
        """Return the text, without the last entries where it is still too long."""
        while self.entries:
            text = render(self.entries)
            if estimate_tokens(text, CONTENT) <= self.tokens and text.count("\n") <= MOST_LINES and len(text.encode()) <= MOST_BYTES:
                return text
            self.leave_out(self.entries.pop(), NO_ROOM)
        return ""


def _by_turns(commands: list[Entry]) -> list[Entry]:
    """Return ranked commands so that one of each purpose comes before the second of any."""
    counts: dict[str, int] = {}
    turns = []
    for place, entry in enumerate(commands):
        counts[entry.home] = counts.get(entry.home, 0) + 1
        order = PURPOSES.index(entry.home) if entry.home in PURPOSES else len(PURPOSES)
        turns.append((counts[entry.home], order, place, entry))
    return [entry for *_, entry in sorted(turns, key=lambda turn: turn[:3])]


def _put(file: Entry, beside: Beside) -> None:
    stem, ending = ending_of(file.text)
    beside.setdefault(ending, set()).add(stem)
