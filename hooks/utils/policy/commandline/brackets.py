"""Read a line that has more structure than a list or a pipeline: brackets, loops, branches, functions, commands in the background. Pure."""

from __future__ import annotations

from .command import AND, INSIDE, KEYWORDS, OR, Command, is_assignment, parted, read_redirect, value_of

_END = "\x00"  # of a line
_CONTROL = frozenset((_END, AND, OR, "|", ";", "&", "(", ")"))
_GOES_ON = (AND, OR, "|")  # in the next line
_BODY = "body"  # of a function
_SKIP_TO = {"for": "do", "select": "do", "case": "in", "function": "name"}
# These begin and end commands whose output goes the same way, as brackets do.
_OPENING, _CLOSING = frozenset("{ if while until for select case".split()), frozenset("} fi done esac".split())
# Between these a command runs only sometimes, or not once: how deep they lead.
_BRANCHES = {"then": 1, "do": 1, "elif": -1, "fi": -1, "done": -1}
# Deeper subshells count as part of this one, which keeps hostile lines linear; so does it that of the ways out only so much is known.
_DEEPEST = 50
_LONGEST_OUTLET = 8


def read(text: str, held: list[str], line: str) -> list[Command]:
    """Return the commands of a line, in order, from its text without quoting (`shell.without_quoting`)."""
    return _Reader(held, line).read(_spaced(text))


def _spaced(text: str) -> str:
    """Return the text with every operator a token of its own, redirections and a lone `&` excepted."""
    if "&" in text:
        text = text.replace("&&", f" {AND} ")
    if "|" in text:
        if ">|" in text:
            text = text.replace(">|", ">")
        text = text.replace("||", f" {OR} ").replace("|&", " | ").replace("|", " | ")
    if ";" in text:
        text = text.replace(";", " ; ")
    if "\n" in text:
        text = text.replace("\n", " \x00 ")
    if "(" in text or ")" in text:
        text = text.replace("(", " ( ").replace(")", " ) ")
    return text


class _Reader:
    """Tokens to commands. `operator` waits for its target, `skip` for the token that ends a passage without commands."""

    __slots__ = (
        "assignments", "branches", "cases", "closed", "commands", "defines", "first", "groups", "held", "joined", "last", "line",
        "literal", "loops", "opened", "operator", "outlet", "over", "redirects", "skip", "stage", "text", "unsure", "words",
    )  # fmt: skip

    def __init__(self, held: list[str], line: str):
        self.held = held
        self.line = line  # for loops
        self.literal = ""
        self.commands: list[Command] = []
        self.words: list[str] = []
        self.assignments: list[str] = []
        self.redirects: list[tuple[str, str]] = []
        self.stage = 0
        self.groups = 0
        self.cases = 0
        self.branches = 0
        self.joined = ""
        self.operator = ""
        self.skip = ""
        self.last = ""
        self.first = 0  # the number of commands before the list of pipelines that is being read
        # Of each bracket, that of the list around it, the number of commands before it, why it may not run (_BODY, or what joins it), and
        # whether it is a shell of its own.
        self.opened: list[tuple[int, int, str, bool]] = []
        self.unsure = 0  # how many of them may not run
        self.defines = False  # the body of a function follows
        self.closed: list[Command] = []  # those in the bracket that was closed last
        self.outlet: list[Command] | None = None
        self.over: list[str] = []  # of the `for` that is being read: its variable, `in` and what it goes over
        self.loops: list[list[str]] = []  # the same, of the loops around what is being read

    def read(self, text: str) -> list[Command]:
        self.text = text  # for loops
        words = None  # the list to which a plain token goes at once
        for token in text.split():
            if token == _END and self.last in _GOES_ON:
                pass
            elif token in _CONTROL:
                self.control(token)
                self.last = token
                words = None
            elif words and not ("\x00" in token or ">" in token or "<" in token or "&" in token):
                words.append(token)
            else:
                self.token(token)
                self.last = ""
                words = None if self.operator or self.skip else self.words
        self.end()
        return self.commands

    def end(self) -> None:
        """Complete the command that was read so far."""
        if self.words or self.assignments or self.redirects:
            branches = self.branches + self.cases + self.unsure
            # Redirections of the bracket before them do nothing else.
            joined = AND if self.outlet is not None and not (self.words or self.assignments) else self.joined
            command = Command(self.words, self.assignments, self.redirects, self.stage, (), joined, branches)
            self.commands.append(command)
            if self.outlet is not None and len(self.outlet) < _LONGEST_OUTLET:
                self.leave_by(command)
            self.words = []
            self.assignments = []
            self.redirects = []
        self.operator = ""

    def control(self, token: str) -> None:
        if self.skip:
            # `for x in ..;` and `case x in a)` end here; any other operator inside belongs to the list or the pattern.
            if (self.skip == "do" and (token == ";" or token == _END)) or self.skip == ")" == token:
                self.skip = ""
        elif self.words and self.words[0] == "[[" and self.words[-1] != "]]":
            pass
        elif token == "(":
            self.open()
        elif token == ")":
            self.close()
            self.defines = self.last == "("  # `f()`
        elif token == "|":
            self.end()
            if self.outlet is not None and not self.stage:
                self.set_apart(self.closed)
            self.stage += 1
        else:
            self.end()
            if token == ";" == self.last and self.cases:
                self.skip = ")"
            if token == "&":
                self.leave_behind()
            self.outlet = None
            if token in (AND, OR):
                self.joined = token
            else:
                self.joined = INSIDE if self.opened and self.opened[-1][2] in (AND, INSIDE) else ""
                self.first = len(self.commands)
            self.stage = 0

    def leave_behind(self) -> None:
        """Mark the list of pipelines that is being read as one that nobody waits for, with all that is in its brackets."""
        behind = self.commands[self.first if len(self.opened) < _DEEPEST else -1 :]
        for command in behind:
            command.is_background = True
        self.set_apart(behind)

    def open(self) -> None:
        """Begin a subshell, skip an array, or drop the name before the parentheses of a function."""
        if self.assignments and not self.words and self.assignments[-1].endswith("="):
            self.skip = ")"
            return
        self.words = []
        self.end()
        self.begin(is_apart=True)

    def begin(self, is_apart: bool = False) -> None:
        """Begin a bracket. What the body of a function does, it does not do here: it runs in a shell of its own, if ever."""
        reason = _BODY if self.defines else self.joined
        self.opened.append((self.first, len(self.commands), reason, is_apart or reason == _BODY or self.stage > 0))
        self.first = len(self.commands)
        self.unsure += reason in (_BODY, OR)
        self.defines = False

    def close(self) -> None:
        """End a bracket: what follows in its pipeline is where the output of the commands in it goes."""
        self.end()
        if self.opened:
            self.first, begin, reason, is_apart = self.opened.pop()
            self.unsure -= reason in (_BODY, OR)
            self.closed = self.commands[begin:] if len(self.opened) < _DEEPEST else []
            if is_apart:
                self.set_apart(self.closed)
            self.outlet = []

    def set_apart(self, commands: list[Command]) -> None:
        """Give commands a shell of their own."""
        self.groups += 1
        groups: dict[tuple[int, ...], tuple[int, ...]] = {}
        for command in commands:
            command.group = groups.setdefault(command.group, (self.groups, *command.group))

    def leave_by(self, command: Command) -> None:
        """Note that the output of the bracket that was closed last goes to a command, if it is in its pipeline or redirects it."""
        if self.outlet is None or not (command.stage or not command.words):
            return
        if not self.outlet:
            for one in self.closed:
                if len(one.outlets) < _LONGEST_OUTLET:
                    one.outlets.append(self.outlet)
        self.outlet.append(command)

    def token(self, token: str) -> None:
        """Take any token but an operator: keyword, assignment, redirection or word."""
        if self.skip:
            self.skipped(token)
        elif "&" in token and len(pieces := parted(token)) > 1:
            for at, piece in enumerate(pieces):
                if at:
                    self.control("&")
                    self.last = "&"
                if piece:
                    self.token(piece)
        elif self.operator:
            self.redirects.append((self.operator, value_of(token, self.held)))
            self.operator = ""
        elif ">" in token or "<" in token:
            word, operator = read_redirect(token, self.redirects, self.held)
            if word:
                self.token(word)
            self.operator = operator
        elif not self.words and is_assignment(token):
            self.assignments.append(value_of(token, self.held))
        elif self.words or token == "[[" or token not in KEYWORDS:
            self.words.append(value_of(token, self.held))
        elif token in _SKIP_TO:
            self.skip = _SKIP_TO[token]
            self.cases += token == "case"
            self.over = []
            if token in _OPENING:
                self.begin()
        else:
            self.bracket(token)

    def bracket(self, token: str) -> None:
        """Take a keyword that begins or ends a bracket, or parts it."""
        if token in _OPENING:
            self.begin()
        elif token in _CLOSING:
            self.close()
            self.cases -= token == "esac" and self.cases > 0
        elif token == "do":
            self.loops.append(self.over)
            self.over = []
        if token == "done" and self.loops:
            self.unroll(self.loops.pop())
        self.branches = max(0, self.branches + _BRANCHES.get(token, 0))

    def unroll(self, over: list[str]) -> None:
        """Write out the loop that was closed last, where it goes over words that are known."""
        if over[1:2] != ["in"]:
            return
        from .loops import literal_in, written_out  # seldom

        self.literal = self.literal or literal_in(self.line)
        written = written_out(over[0], over[2:], self.closed, self.text, self.literal)
        if written:
            self.commands[len(self.commands) - len(self.closed) :] = written
            self.closed = written

    def skipped(self, token: str) -> None:
        if token == "esac" and self.cases:
            self.skip = ""
            self.bracket(token)
        elif token == "in" == self.skip:
            self.skip = ")"
        elif self.skip == "do" != token:
            self.over.append(value_of(token, self.held))
        elif token == self.skip or self.skip == "name":
            self.defines = self.skip == "name"
            self.skip = ""
