"""Set aside the parts of a command line that hide operators from a plain split: quotes, substitutions, comments, here-documents. Pure,
linear.

The scanner moves each of them out of the line and leaves its number there between two NULs; `shell.without_quoting` does the same for
lines so plain that a split will do.
"""

from __future__ import annotations

# "((" must precede "(": both begin at the same place.
_MARKS = ('"', "'", "\\", "`", "$(", "${", "$'", "<<", "<(", ">(", "((", "(", ")", "}", "#", "\n")
_BEFORE_COMMENT = frozenset(" \t\r\n;|&()")
_AFTER_DELIMITER = frozenset(" \t\r\n;|&<>()")
_ESCAPES = dict(zip("ntrabfveE'\"?", "\n\t\r\a\b\f\v\x1b\x1b'\"?"))
# Nobody nests deeper, and a limit keeps the cost of hostile lines linear.
_DEEPEST = 50


class Scanner:
    """Walks from mark to mark. `stack` holds the open brackets: `"`, `(`, `{`, `` ` ``; nothing is copied while one is open."""

    __slots__ = ("arithmetic", "copied", "documents", "held", "line", "out", "stack", "start")

    def __init__(self, line: str, held: list[str]):
        self.line = line
        self.held = held
        self.out: list[str] = []
        self.copied = 0
        self.start: int  # of what is open
        self.stack: list[str] = []
        self.documents: list[tuple[str, bool, int]] = []
        self.arithmetic = 2

    def scan(self) -> str | None:
        line = self.line
        find = line.find
        ahead = {}
        for mark in _MARKS:
            at = find(mark)
            if at != -1:
                ahead[mark] = at
        while ahead:
            at = len(line)
            mark = ""
            for candidate, place in ahead.items():
                if place < at:
                    at = place
                    mark = candidate
            # Each mark's next place is remembered, so that a text without it is searched only once: linear.
            at = self.step(mark, at)
            if at == -1:
                return None
            for candidate in [one for one, place in ahead.items() if place < at]:
                place = find(candidate, at)
                if place == -1:
                    del ahead[candidate]
                else:
                    ahead[candidate] = place
        if self.stack:
            return None
        self.out.append(line[self.copied :])
        return "".join(self.out)

    def step(self, mark: str, at: int) -> int:
        """Return where to go on after the mark at `at`; -1 when its closing mark is missing."""
        stack = self.stack
        mode = stack[-1] if stack else ""
        if mark == "\\":
            return self.escaped(at)
        if mark == "`" or mark == '"':
            if mode == mark:
                return self.close(at + 1)
            end = self.plain_end(at) if mark == '"' and not stack else 0
            return self.hold(at, end, _unescaped(self.line[at + 1 : end - 1])) if end else self.open(mark, at, 1)
        if mark == "$(":
            if self.line.startswith("((", at + 1):
                end = self.arithmetic_end(at + 3)
                if end:
                    return end if stack else self.hold(at, end, self.line[at:end])
            return self.open("(", at, 2)
        if mark == "${":
            return self.open("{", at, 2)
        if mark == "}":
            return self.close(at + 1) if mode == "{" else at + 1
        if mode == '"' or (mark in "'#" and '"' in stack and mode == "{"):
            return at + 1
        return self.command_mark(mark, at, mode)

    def command_mark(self, mark: str, at: int, mode: str) -> int:
        """Return the same for marks that mean something only outside double quotes."""
        line = self.line
        if mark == "'":
            end = line.find("'", at + 1) + 1
            if not end:
                return -1
            return end if mode else self.hold(at, end, line[at + 1 : end - 1])
        if mark == "$'":
            return self.ansi(at)
        if mark == "\n":
            return self.skip_documents(at) if self.documents else at + 1
        if mode == "{":
            return at + 1
        if mark == "#":
            return self.comment(at)
        if mark == "<<":
            return self.document(at)
        if mark == "<(" or mark == ">(":
            return self.open("(", at, 2)
        if mark == ")":
            return self.close(at + 1) if mode == "(" else at + 1
        if mode == "(":
            return self.open("(", at, 1)
        if mark == "((" and not mode:
            end = self.arithmetic_end(at + 2)
            if end:
                return self.hold(at, end, line[at:end])
        return at + 1

    def arithmetic_end(self, at: int) -> int:
        """Return the place behind the `))` that ends what begins at `at`, 0 for none, as where brackets of commands begin; the next `))` is
        kept, which keeps rows of `((` linear."""
        line = self.line
        if 0 < self.arithmetic < at + 2:
            end = line.find("))", at)
            self.arithmetic = end + 2 if end != -1 else 0
        depth, begin = 1, at
        for _ in range(_DEEPEST if self.arithmetic else 0):
            end = line.find(")", begin)
            depth += line.count("(", begin, end) - 1
            if not depth:
                return end + 2 if line.startswith(")", end + 1) else 0
            begin = end + 1
        return self.arithmetic

    def plain_end(self, at: int) -> int:
        """Return the place behind a double-quoted text in which nothing is substituted; 0 for any other."""
        line = self.line
        begin = at + 1
        while True:
            end = line.find('"', begin)
            held = line[begin:end]
            if end == -1 or "$(" in held or "${" in held or "`" in held:
                return 0
            # Behind an odd number of backslashes the quote is part of the text.
            last = end
            while line[last - 1] == "\\":
                last -= 1
            if not (end - last) & 1:
                return end + 1
            begin = end + 1

    def open(self, bracket: str, at: int, width: int) -> int:
        if not self.stack:
            self.start = at
        elif len(self.stack) > _DEEPEST:
            return -1
        self.stack.append(bracket)
        return at + width

    def close(self, end: int) -> int:
        bracket = self.stack.pop()
        if self.stack:
            return end
        text = self.line[self.start : end]
        if bracket == '"':
            text = _unescaped(text[1:-1])
        return self.hold(self.start, end, text)

    def hold(self, start: int, end: int, text: str) -> int:
        self.out.append(f"{self.line[self.copied : start]}\x00{len(self.held)}\x00")
        self.held.append(text)
        self.copied = end
        return end

    def escaped(self, at: int) -> int:
        if self.stack:
            return at + 2
        following = self.line[at + 1 : at + 2]
        if following != "\n":
            return self.hold(at, at + 2, following)
        self.out.append(self.line[self.copied : at])
        self.copied = at + 2
        return at + 2

    def ansi(self, at: int) -> int:
        end, text = _ansi_text(self.line, at + 2)
        return end if end == -1 or self.stack else self.hold(at, end, text)

    def comment(self, at: int) -> int:
        if at and self.line[at - 1] not in _BEFORE_COMMENT:
            return at + 1
        end = self.line.find("\n", at)
        if end == -1:
            end = len(self.line)
        if not self.stack:
            self.out.append(self.line[self.copied : at])
            self.copied = end
        return end

    def document(self, at: int) -> int:
        """Note a here-document; its body is skipped at the next newline."""
        if self.line.startswith("<<<", at):
            return at + 3
        end, delimiter, tabs = _delimiter(self.line, at + 2)
        slot = -1
        if not self.stack:
            self.out.append(f"{self.line[self.copied : at]} <<\x00{len(self.held)}\x00")
            slot = len(self.held)
            self.held.append("")
            self.copied = end
        self.documents.append((delimiter, tabs, slot))
        return end

    def skip_documents(self, at: int) -> int:
        """Return the end of the last line of the bodies that begin after the newline at `at`."""
        here = at
        for delimiter, tabs, slot in self.documents:
            begin, end = _terminator(self.line, here, delimiter, tabs)
            if slot != -1:
                self.held[slot] = self.line[here + 1 : begin]
            here = end
        self.documents = []
        if not self.stack:
            self.out.append(self.line[self.copied : at])
            self.copied = here
        return here


def _ansi_text(line: str, begin: int) -> tuple[int, str]:
    """Return the end and the text of a `$'..'` string, the only single quotes in which a backslash counts; an end of -1 for none."""
    pieces = []
    while True:
        end = line.find("'", begin)
        if end == -1:
            return -1, ""
        piece = line[begin:end]
        pieces.append(piece)
        begin = end + 1
        if not (len(piece) - len(piece.rstrip("\\"))) & 1:
            break
    return begin, "\\".join([_with_escapes(text) for text in "'".join(pieces).split("\\\\")])


def _with_escapes(text: str) -> str:
    """Return a text with what its escapes stand for; the numbers of characters stay as they are written."""
    first, *others = text.split("\\")
    return first + "".join([_ESCAPES.get(other[:1], "\\" + other[:1]) + other[1:] for other in others])


def _delimiter(line: str, begin: int) -> tuple[int, str, bool]:
    """Return (end, what ends a here-document, whether tabs before it do not count); an end of -1 for none."""
    tabs = line.startswith("-", begin)
    if tabs:
        begin += 1
    while line.startswith((" ", "\t"), begin):
        begin += 1
    quote = line[begin : begin + 1]
    if quote and quote in "'\"":
        end = line.find(quote, begin + 1)
        return (end + 1 if end != -1 else -1), line[begin + 1 : end], tabs
    end = begin
    while end < len(line) and line[end] not in _AFTER_DELIMITER:
        end += 1
    return end, line[begin:end].replace("\\", ""), tabs


def _terminator(line: str, here: int, delimiter: str, tabs: bool) -> tuple[int, int]:
    """Begin and end of the line that ends a here-document; the end of everything when there is none."""
    lead = "\n" if tabs else "\n" + delimiter
    while True:
        here = line.find(lead, here)
        if here == -1:
            return len(line), len(line)
        begin = here + 1
        end = line.find("\n", begin)
        if end == -1:
            end = len(line)
        if line[begin:end].strip("\t\r" if tabs else "\r") == delimiter:
            return begin, end
        here = end


def _unescaped(text: str) -> str:
    """Return what a double-quoted text means: the backslash goes only before `"`, `\\`, `$`, a backtick and a newline."""
    if "\\" not in text:
        return text
    return "\\".join(
        [piece.replace('\\"', '"').replace("\\$", "$").replace("\\`", "`").replace("\\\n", "") for piece in text.split("\\\\")]
    )
