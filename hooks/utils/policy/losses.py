"""Rank what a compaction lost by the chance that it is needed next. Pure.

Lost is what stood in the conversation before and is in no text that stands behind the compaction: the person's sentences, open errors, and
strings (names, and lines that are long enough not to be chance) of calls, results and answers. A row of the list is about one subject (a
file, a command, a message), and leads to the few texts, its *ways*, that hold most of what is likely to be needed of it. A string is worth
more the later it was last shown, the more texts showed it, most if calls were made with it, and twice as much if its file is named in what
stands. What an earlier row leads to counts no more, and a long text less, as it takes longer to find something in it.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import sqrt

from . import random_words
from .outlines import LONGEST_NAME, SHORTEST_NAME, is_failure_line, is_plain, possible_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Whose text a passage is: the person's, the assistant's, of a call, of its result, of anything else that the host added.
SAID, WROTE, CALLED, RESULT, ADDED = "said", "wrote", "called", "result", "added"
# What a row is about beside these: an error that nothing has settled, the tasks that the assistant keeps.
ERROR, TASKS = "error", "tasks"

WAYS = 3
MOST_WORDS = 24
# Chosen over recorded summaries (`python benchmarks/receipts.py --transcripts FOLDER --tune`): a string is worth half as much after so many
# requests; in the input of a call it counts as much as in so many results; of a file that is named behind the compaction so many times as
# much, as in the list of tasks; a name costs so many characters beside its own.
_HALVED, _CALLED, _NAMED, _BESIDE = 10, 2, 2.0, 20
# What a person says is hardly ever written again word for word, and binds all that follows: so many strings' worth, and more of a sentence
# that has a number, a path or a name in it.
_SENTENCE, _TELLING = 60.0, 3.0
_ERROR = 200.0  # and of an open error
_SHORTEST_LINE, _LONGEST_LINE = 20, 400
_PROBE = SHORTEST_NAME
_TELLING_CHARS = "/_`"
_LEAST_CHARS = 400  # a text is not found faster for being shorter than this
_ENDS = (". ", "? ", "! ", "; ", "。")
_LINE_NUMBERS = ("→", "\t")
_KEY = "-----BEGIN "
_OF_SHELL = ("cd ", "sudo ", "timeout ")
# Words of a program behind which stands what it runs.
_RUNNING = ("run", "run-script", "exec", "-m")


class Passage:
    """A text of a conversation: of which `kind`, its `text`, the `subject` that it shares with others ("" for none), what a person calls
    it (`label`), the `id` of its tool call, where it stands (`place`, any number that tells places apart, and the `entry` there), how many
    requests came before it (`request`); of a result whether it `failed`; whether its subject is a `file`, and whether it is the list of
    tasks."""

    __slots__ = ("entry", "failed", "file", "id", "is_tasks", "kind", "label", "place", "request", "subject", "text")

    def __init__(
        self, kind: str, text: str, place: int, request: int, subject: str = "", label: str = "", id: str = "", failed: bool = False,
        file: bool = False, is_tasks: bool = False, entry: str = "",
    ) -> None:  # fmt: skip
        self.kind = kind
        self.text = text
        self.place = place
        self.request = request
        self.subject = subject
        self.label = label
        self.id = id
        self.failed = failed
        self.file = file
        self.is_tasks = is_tasks
        self.entry = entry


class Loss:
    """A row of the list: of which `kind`, its `label`, the lost `words` that are most likely to be needed (the sentences of a person's
    message, the lines of an error, names of anything else), how many strings of its subject are lost (`count`), and the `ways`, Passages
    that have them, the most useful first."""

    __slots__ = ("count", "kind", "label", "ways", "words")

    def __init__(self, kind: str, label: str, words: list[str], count: int, ways: list[Passage]) -> None:
        self.kind = kind
        self.label = label
        self.words = words
        self.count = count
        self.ways = ways


class Losses:
    """The first `rows` of a list, and how many `sentences` of the person's, open `errors`, `names` and `lines` are lost in all."""

    __slots__ = ("errors", "lines", "names", "rows", "sentences")

    def __init__(self, rows: list[Loss], sentences: int, errors: int, names: int, lines: int) -> None:
        self.rows = rows
        self.sentences = sentences
        self.errors = errors
        self.names = names
        self.lines = lines


class Standing:
    """The texts that stand behind a compaction, to be asked whether they hold a string."""

    __slots__ = ("_beginnings", "_plain", "names", "text")

    def __init__(self, texts: Iterable[str]) -> None:
        self.text = "\n".join(texts)
        self.names = possible_names([self.text])
        # A string that is nowhere is told from its first characters, which is fifty times as fast as to look for it.
        self._beginnings = {self.text[at : at + _PROBE] for at in range(len(self.text) - _PROBE + 1)}
        self._plain = " ".join(self.text.split())

    def holds(self, string: str) -> bool:
        """Return whether a text holds a string of _PROBE characters or more."""
        return string[:_PROBE] in self._beginnings and string in self.text

    def holds_words(self, words: str) -> bool:
        """Return whether a text holds these words, whatever blanks are between them."""
        return words in self._plain


def ranked(before: Sequence[Passage], standing: Standing, most: int) -> Losses:
    """Return the first rows, at most so many, of what the passages `before` a compaction held that does not stand behind it."""
    now = before[-1].request if before else 0
    known: dict[str, set[str]] = {}
    for passage in before:
        if passage.text not in known:
            known[passage.text] = strings_of(passage.text)
    worth = _worths(before, known, standing, now)
    groups = _groups(before, known, standing, worth, now)
    names = sum(1 for string in worth if " " not in string)
    sentences = sum(len(group.sentences) for group in groups)
    errors = sum(group.kind == ERROR for group in groups)
    return Losses(_first(groups, most), sentences, errors, names, len(worth) - names)


class _Group:
    """The passages of one subject: their lost strings with the worth of each, and the sentences that a person said."""

    __slots__ = ("count", "covers", "kind", "sentences", "size", "ways", "worth")

    def __init__(
        self, kind: str, worth: dict[str, float], ways: list[Passage], size: int, count: int, sentences: Sequence[str] = ()
    ) -> None:
        self.kind = kind
        self.worth = worth
        self.ways = ways
        self.size = size
        self.count = count
        self.sentences = sentences
        self.covers: set[str] = set()  # strings that its texts have beside these

    def value(self, led_to: set[str]) -> float:
        """Return the worth of what no other row leads to, for the size of the texts."""
        return sum(worth for string, worth in self.worth.items() if string not in led_to) / sqrt(max(_LEAST_CHARS, self.size))


def _first(groups: list[_Group], most: int) -> list[Loss]:
    """Return the rows of the groups, each time the one that leads to most beside what the rows before it lead to."""
    led_to: set[str] = set()
    heap = [(-group.value(led_to), at) for at, group in enumerate(groups)]
    heapify(heap)
    rows: list[Loss] = []
    while heap and len(rows) < most:
        known, at = heappop(heap)
        value = -groups[at].value(led_to)
        if value >= 0:
            continue
        if value > known and heap and value > heap[0][0]:
            heappush(heap, (value, at))
            continue
        group = groups[at]
        rows.append(Loss(group.kind, group.ways[0].label, _words_of(group, led_to), group.count, group.ways))
        led_to.update(group.worth, group.covers)
    return rows


def _words_of(group: _Group, led_to: set[str]) -> list[str]:
    """Return what a row says of what is lost; names that a row before leads to come last."""
    if group.kind in (SAID, ERROR):
        return sorted(group.sentences or group.worth, key=lambda sentence: -group.worth[sentence])[:MOST_WORDS]
    label = group.ways[0].label
    names = sorted(
        (string for string in group.worth if " " not in string),
        key=lambda name: (name in led_to, -group.worth[name] / (_BESIDE + len(name)), name),
    )
    words: list[str] = []
    for name in names:
        if name not in label and not random_words.random_runs(name):
            words.append(name)
            if len(words) == MOST_WORDS:
                break
    lines = [string for string in group.worth if " " in string]
    return words or sorted(lines, key=lambda line: (-group.worth[line], line))[:1]


def _worths(before: Sequence[Passage], known: dict[str, set[str]], standing: Standing, now: int) -> dict[str, float]:
    """Return the worth of each lost string; `known`: text of a passage -> its strings."""
    shown: dict[str, float] = {}
    last: dict[str, int] = {}
    named: set[str] = set()
    for passage in before:
        strings = known[passage.text]
        counts = 1 + _CALLED if passage.kind == CALLED else 1
        for string in strings:
            shown[string] = shown.get(string, 0) + counts
        last.update(dict.fromkeys(strings, passage.request))
        if passage.is_tasks or _is_named(passage, standing):
            named |= strings
    lost = [string for string in shown.keys() - standing.names if not (standing.holds(string) or is_plain(string))]
    return {string: shown[string] * (_NAMED if string in named else 1) / (_HALVED + now - last[string]) for string in lost}


def _is_named(passage: Passage, standing: Standing) -> bool:
    name = passage.subject.rpartition("/")[2] if passage.file else ""
    return bool(name) and name in standing.text


def _groups(
    before: Sequence[Passage], known: dict[str, set[str]], standing: Standing, worth: dict[str, float], now: int
) -> list[_Group]:  # fmt: skip
    of_subject: dict[str, list[Passage]] = {}
    groups: list[_Group] = []
    opened = open_errors(before)
    for at, passage in enumerate(before):
        if passage.kind == SAID:
            groups += _said(passage, standing, now)
            continue
        if at in opened:
            groups += _error(passage, known, standing, now)
        of_subject.setdefault(passage.subject or f"\0{at}", []).append(passage)
    return groups + [group for passages in of_subject.values() for group in _about(passages, known, worth)]


def _said(passage: Passage, standing: Standing, now: int) -> list[_Group]:
    """Return the group of a person's message; none where all of its sentences stand."""
    lost = [sentence for sentence in sentences_of(passage.text) if not standing.holds_words(sentence)]
    if not lost:
        return []
    recent = _HALVED + now - passage.request
    worth = {sentence: _SENTENCE * (_TELLING if _tells(sentence, standing) else 1) / recent for sentence in lost}
    return [_Group(SAID, worth, [passage], len(passage.text), len(lost), lost)]


def _tells(sentence: str, standing: Standing) -> bool:
    """Return whether a sentence has a number, a path or a name that stands nowhere."""
    return any(_is_telling(word) and not standing.holds_words(word) for word in map(_bare, sentence.split()))


def _is_telling(word: str) -> bool:
    return any(char.isdigit() or char in _TELLING_CHARS for char in word)


def _bare(word: str) -> str:
    return word.strip(".,:;!?()[]\"'`")


def _error(passage: Passage, known: dict[str, set[str]], standing: Standing, now: int) -> list[_Group]:
    """Return the group of an open error; none where all lines that tell of it stand."""
    lost = [line for line in failure_lines(passage.text) if not standing.holds_words(" ".join(line.split()))]
    if not lost:
        return []
    worth = {line: _ERROR / len(lost) / (_HALVED + now - passage.request) for line in lost}
    group = _Group(ERROR, worth, [passage], len(passage.text), len(lost))
    group.covers = known[passage.text]
    return [group]


def _about(passages: list[Passage], known: dict[str, set[str]], worth: dict[str, float]) -> list[_Group]:
    """Return the group of a subject, with the passages that hold most of what it lost for their size; none where nothing is lost."""
    held = [(passage, {string: worth[string] for string in known[passage.text] & worth.keys()}) for passage in passages]
    left: dict[str, float] = {}
    ways: list[Passage] = []
    size = 0
    while len(ways) < WAYS:
        best, most = None, 0.0
        for passage, strings in held:
            value = sum(strings[string] for string in strings.keys() - left.keys()) / sqrt(max(_LEAST_CHARS, len(passage.text)))
            if value > most:
                best, most = (passage, strings), value
        if best is None:
            break
        ways.append(best[0])
        left.update(best[1])
        size += len(best[0].text)
    if not ways:
        return []
    count = len({string for _, strings in held for string in strings})
    kind = TASKS if passages[-1].is_tasks else CALLED if passages[-1].kind == RESULT else passages[-1].kind
    return [_Group(kind, left, ways, size, count)]


def strings_of(text: str) -> set[str]:
    """Return the names in a text, and its lines of _SHORTEST_LINE to _LONGEST_LINE characters without their numbers."""
    if _KEY in text:
        return set()
    strings = {name for name in possible_names([text]) if SHORTEST_NAME <= len(name) <= LONGEST_NAME}
    for line in text.split("\n"):
        if len(line) >= _SHORTEST_LINE:
            line = without_number(line)
            if _SHORTEST_LINE <= len(line) <= _LONGEST_LINE and " " in line:
                strings.add(line)
    return strings


def without_number(line: str) -> str:
    """Return a line, stripped, without the number that a reader puts before it."""
    line = line.strip()
    for mark in _LINE_NUMBERS:
        number, found, rest = line.partition(mark)
        if found and number.strip().isdigit():
            return rest.strip()
    return line


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text, each once, with one blank between words. A word alone is one if it can be a path or a number."""
    sentences: dict[str, None] = {}
    for line in text.split("\n"):
        begin, words = 0, " ".join(line.split())
        while begin < len(words):
            ends = [at + len(end) for end in _ENDS if (at := words.find(end, begin)) != -1]
            end = min(ends, default=len(words))
            sentence = words[begin:end].strip()
            if " " in sentence or _is_telling(sentence):
                sentences[sentence] = None
            begin = end
    return list(sentences)


def failure_lines(text: str) -> list[str]:
    """Return the lines of a failure's text that tell of it; where none does, the last line, since the first has the exit code."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return [line[:_LONGEST_LINE] for line in lines if is_failure_line(line)][:MOST_WORDS] or [line[:_LONGEST_LINE] for line in lines[-1:]]


def open_errors(passages: Sequence[Passage]) -> set[int]:
    """Return the places in the list of the results that failed, where nothing of the same subject has succeeded since."""
    settled: set[str] = set()
    opened: set[int] = set()
    for at in range(len(passages) - 1, -1, -1):
        passage = passages[at]
        if passage.kind != RESULT or not passage.subject:
            continue
        run = passage.subject if passage.file else _run(passage.subject)
        if passage.failed and run not in settled:
            opened.add(at)
        settled.add(run)  # of several failures of one run the newest tells how it stands
    return opened


def _run(line: str) -> str:
    """Return the program of a command line with its first word, and what it runs by that, behind what only says where it runs."""
    for part in line.replace("&&", ";").split(";"):
        words = part.split()
        if words and not part.strip().startswith(_OF_SHELL):
            return " ".join(words[: 3 if words[1:2] and words[1] in _RUNNING else 2])
    return line
