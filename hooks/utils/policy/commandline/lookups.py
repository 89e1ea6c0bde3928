"""Read which parts a search or a listing on the command line covers. Pure.

Options are those of the GNU, BSD and ripgrep manuals; an unknown option is taken to have no value, and to make it another
search. What makes a look show less or more than another is in the marks of its scope (`parts.py`).
"""

from __future__ import annotations

from ..parts import AT_LEAST, AT_MOST, LESS, LISTING, MORE, content_search, file_search, here_only, marked, normal_path
from .command import word_at
from .programs import Table

# More places than this are not listed: what was searched is then unknown, and is covered by nothing.
MOST_PLACES = 64

# Letters of short options that take a value, and of those that change what matches.
_GREP = ("efmABCdD", "ivwxF")
_RIPGREP = ("efmABCgtTjrdM", "ivwxF")
_AG = ("ABCGmp", "ivwQ")
_SHORT = {"rg": _RIPGREP, "ag": _AG, "ack": _AG}
_LONG_VALUES = frozenset(
    "--regexp --file --max-count --after-context --before-context --context --glob --iglob --type --type-not --include --exclude"
    " --exclude-dir --threads --replace --max-depth --maxdepth --max-columns --sort --sortr --color --colors --encoding --ignore-file"
    " --ignore --ignore-dir --pre --engine --max-filesize --binary-files --devices --directories --label --path-separator --depth".split()
)
_LONG_MARKS = Table("""
--ignore-case: i
--invert-match: v
--word-regexp: w
--line-regexp: x
--fixed-strings: F
--literal: Q
--files-without-match: L
--multiline: U
""")
_GLOBS = ("-g", "--glob", "--iglob", "--include", "-t", "--type")
# What of the lines that match is shown: not they, or not all of them.
_SHOWN_LESS = Table("""
-l --files-with-matches: names
-c --count --count-matches: counts
-q --quiet --silent: nothing
-o --only-matching: matches
-h --no-filename: no names
-I: text
""")
_NO_LINES = frozenset(("names", "counts", "nothing"))
_NUMBERED_LESS = Table("""
-m --max-count: each
-d --max-depth --maxdepth --depth: depth
-M --max-columns: columns
--max-filesize: size
""")
_EXCLUDES = ("--exclude", "--exclude-dir", "-T", "--type-not", "--ignore", "--ignore-dir")
_SHOWN_MORE = Table("""
-n --line-number: numbers
--vimgrep --column: columns
-b: offsets
-a --text: binary
--hidden -.: hidden
-z: archives
""")
_AROUND = Table("""
-A --after-context: after
-B --before-context: before
-C --context: after before
""")
# These matter in no way: how it is shown, or what it is anyway.
_NEUTRAL = frozenset(
    "-r -R -s -H -E -P -F -G --color --colour --colors --recursive --dereference-recursive --no-messages --with-filename --sort --sortr"
    " --threads -j --basic-regexp --extended-regexp --perl-regexp --fixed-strings --line-buffered --pcre2 --no-color --no-config --label"
    " --null --trim --encoding --engine --case-sensitive --binary-files --no-heading --heading --follow --untracked -p".split()
)
_UNIGNORED = ("--no-ignore", "-u", "--unrestricted", "-uu", "-uuu", "--no-ignore-vcs", "--all-text")
_RESPECT_IGNORED = ("rg", "ag", "ack", "git grep")
_FD_VALUES = frozenset(
    "-e --extension -t --type -E --exclude -d --max-depth --min-depth -S --size -c --color -j --threads -x -X --exec".split()
)
_TREE_VALUES = frozenset("-L -I -P -o --level --ignore-glob --sort -T".split())


def options(words: list[str], values: str, long_values: frozenset = frozenset()) -> tuple[list[tuple[str, str]], list[str]]:
    """Return options with their values, and the other words. A cluster `-rne x` is `-r`, `-n`, `-e x`."""
    parsed: list[tuple[str, str]] = []
    others: list[str] = []
    at = 1
    count = len(words)
    while at < count:
        word = words[at]
        at += 1
        if word[:1] != "-" or word == "-":
            others.append(word)
        elif word[1:2] == "-":
            if word == "--":
                others += words[at:]
                break
            name, equals, value = word.partition("=")
            if not equals and name in long_values and at < count:
                value = words[at]
                at += 1
            parsed.append((name, value))
        else:
            for place, letter in enumerate(word[1:], 2):
                if letter in values:
                    value = word[place:]
                    if not value and at < count:
                        value = words[at]
                        at += 1
                    parsed.append(("-" + letter, value))
                    break
                parsed.append(("-" + letter, ""))
    return parsed, others


def content_parts(program: str, words: list[str], cwd: str, piped: bool) -> tuple[tuple, str]:
    """Return the part that `grep` and its like look at, and the pattern. `piped`: they read a pipe when no place is named."""
    values, letters = _SHORT.get(program, _GREP)
    pairs, others = options(words, values, _LONG_VALUES)
    patterns: list[str] = []
    letter_marks = ""
    seen = SearchScope()
    if program in _RESPECT_IGNORED:
        seen.less.append("ignored")
    extended = program not in ("grep", "git grep", "zgrep", "ggrep")
    for name, value in pairs:
        letter = _LONG_MARKS.get(name) or name[1:]
        if name in ("-e", "--regexp"):
            patterns.append(value)
        elif name in ("-E", "-P", "--extended-regexp", "--perl-regexp", "-F", "--fixed-strings"):
            extended = True
            letter_marks += "F" if letter == "F" else ""
        elif name == "--files" and program == "rg":
            return _files_of_ripgrep(pairs, _roots(others, cwd, piped))
        elif letter in letters or name in _LONG_MARKS:
            letter_marks += letter
        else:
            seen.option(name, value)
    if not patterns and others:
        patterns.append(others.pop(0))
    pattern = "|".join(patterns)
    if not extended:
        # A basic expression writes `\|` for what all the others write `|`.
        pattern = pattern.replace("\\|", "|")
    if "F" in letter_marks and pattern.replace(" ", "").replace("_", "").isalnum():
        letter_marks = letter_marks.replace("F", "")
    flags = "".join(sorted({*letter_marks} - {"i"})) if letter_marks else ""
    key, roots = content_search("".join([pattern, *seen.unknown]), _roots(others, cwd, piped), "i" in letter_marks, flags)
    return (key, marked(roots, seen.marks())), pattern


def _files_of_ripgrep(pairs: list[tuple[str, str]], roots: list[str]) -> tuple[tuple, str]:
    seen = SearchScope()
    seen.less.append("ignored")
    for name, value in pairs:
        if name != "--files":
            seen.option(name, value)
    pattern = "*"
    if len(seen.globs) == 1 and not seen.globs[0].startswith("type "):
        pattern = seen.globs.pop()
    key, roots = file_search(pattern, roots)
    return ("".join([key, *seen.unknown]), marked(roots, seen.marks())), "--files " + pattern


class SearchScope:
    """The effect of options on a search's output: `less` and `more` than without them, only files that match `globs`; and the `unknown`
    options."""

    __slots__ = ("globs", "is_unignored", "less", "more", "unknown")

    def __init__(self) -> None:
        self.is_unignored = False
        self.less: list[str] = []
        self.more: list[str] = []
        self.globs: list[str] = []
        self.unknown: list[str] = []

    def option(self, name: str, value: str) -> None:
        if name in _GLOBS:
            # An exclusion is a limit of its own; of the others one is enough.
            if value[:1] == "!":
                self.less.append("not " + value[1:])
            else:
                self.globs.append(("type " if name in ("-t", "--type") else "") + value)
        elif name in _UNIGNORED:
            self.less = [item for item in self.less if item != "ignored"]
            self.more.append("hidden" if self.is_unignored or name in ("-uu", "-uuu") else "")
            self.is_unignored = True
        elif name in _SHOWN_LESS:
            self.less.append(_SHOWN_LESS[name])
        elif name in _NUMBERED_LESS:
            self.less.append(f"{_NUMBERED_LESS[name]}{AT_MOST}{value}")
        elif name in _EXCLUDES:
            self.less.append("not " + value)
        elif name in _AROUND:
            self.more += [f"{side}{AT_LEAST}{value}" for side in _AROUND[name].split()]
        elif name in _SHOWN_MORE:
            self.more.append(_SHOWN_MORE[name])
        elif name not in _NEUTRAL:
            self.unknown.append(f" {name}={value}" if value else " " + name)

    def marks(self) -> list[str]:
        """Return the marks of all this."""
        more = [] if not _NO_LINES.isdisjoint(self.less) else self.more  # without lines there is nothing around them
        marks = [*[LESS + item for item in self.less if item], *[MORE + item for item in more if item]]
        return [*marks, LESS + "in " + ", ".join(sorted(self.globs))] if self.globs else marks


def _roots(words: list[str], cwd: str, piped: bool) -> list[str]:
    if piped and (not words or "{}" in words):
        return ["?pipe"]
    if not words:
        return [cwd]
    if len(words) > MOST_PLACES:
        return ["?many"]
    return [normal_path(word, cwd) for word in words]


def find_parts(words: list[str], cwd: str) -> tuple[tuple, str]:
    """Return the part of a `find`: its tests, below its starting points."""
    at = 1
    while at < len(words) and words[at] in ("-L", "-H", "-P", "-E"):
        at += 1
    begin = at
    while at < len(words) and words[at][:1] not in ("-", "(", "!"):
        at += 1
    roots = _roots(words[begin:at], cwd, False)
    tests = [test for test in words[at:] if test not in ("-print", "-print0")]
    title = " ".join(tests) or " ".join(words[begin:at])
    marks = []
    if "-maxdepth" in tests:
        roots = [here_only(root) for root in roots]
    if "-ls" in tests:
        tests.remove("-ls")
        marks.append(MORE + "long")
    if _DISJUNCTIVE.isdisjoint(tests):
        tests, limits = _limits_of_find(tests)
        marks += limits
    if len(tests) == 2 and tests[0] == "-name" and "/" not in tests[1]:
        key, roots = file_search(tests[1], roots)
        return (key, marked(roots, marks)), tests[1]
    return ("search:files:find:" + " ".join(tests), marked(roots, marks)), title


# With these, the tests of a `find` are not all to hold.
_DISJUNCTIVE = frozenset("-o -or , ( ) -prune -exec -execdir -ok -printf -fprint -quit \\( \\)".split())
_TESTS_OF_PATHS = ("-path", "-name", "-iname", "-wholename")


def _limits_of_find(tests: list[str]) -> tuple[list[str], list[str]]:
    """Return the tests of a `find` that say what it looks for, and as marks those that only leave something out."""
    left, marks = [], []
    at = 0
    while at < len(tests):
        test, value = tests[at], word_at(tests, at + 1)
        if test in ("-not", "!") and value in _TESTS_OF_PATHS and at + 2 < len(tests):
            marks.append(LESS + "not " + tests[at + 2])
            at += 3
        elif test == "-type":
            marks.append(LESS + "type " + value)
            at += 2
        elif test == "-maxdepth" and value.isdigit():
            marks.append(f"{LESS}depth{AT_MOST}{value}")
            at += 2
        else:
            left.append(test)
            at += 1
    return left, marks


# Letters of `ls` and its like that show more; that only order or adorn; the others make another list of it.
_LS_MORE = Table("""
l n g o: long
a A: hidden
i: inodes
s: sizes
R: below
""")
_LS_NEUTRAL = frozenset("1tSrhFpGXvUcCkxm")
_LS_LONG = Table("""
--all --almost-all: a
--long: l
--recursive --tree: R
--human-readable: h
--reverse: r
""")
_LS_LONG_NEUTRAL = frozenset(("--color", "--group-directories-first", "--full-time", "--icons", "--time-style", "--sort", "--classify"))


def listing_parts(program: str, words: list[str], cwd: str) -> tuple[tuple, str]:
    """Return the part of `ls`, `tree`, `fd` and their like."""
    if program in ("fd", "fdfind"):
        return _fd_parts(words, cwd)
    if program == "tree":
        pairs, others = options(words, "LIPoT", _TREE_VALUES)
        return _tree_parts(pairs, _roots(others, cwd, False)), " ".join(others)
    is_tree = program in ("exa", "eza", "lsd")
    pairs, others = options(words, "ILstw" if is_tree else "ITw", _TREE_VALUES)
    roots = _roots(others, cwd, False)
    marks, unknown = [], []
    for name, value in pairs:
        letter = _LS_LONG.get(name, name[1:])
        if is_tree and letter in "Ts":
            letter = "R" if letter == "T" else "S"
        if letter in _LS_MORE:
            marks.append(MORE + _LS_MORE[letter])
        elif letter not in _LS_NEUTRAL and name not in _LS_LONG_NEUTRAL:
            unknown.append(name + value)
    if program == "ll":
        marks.append(MORE + "long")
    deep = MORE + "below" in marks
    key = LISTING + " ".join(sorted(unknown))
    return (key, marked(roots if deep else [here_only(root) for root in roots], marks)), " ".join(others)


def _tree_parts(pairs: list[tuple[str, str]], roots: list[str]) -> tuple[str, list[str]]:
    marks, unknown = [], []
    for name, value in pairs:
        if name in ("-L", "--level"):
            roots = [here_only(root) for root in roots]
            marks.append(f"{LESS}depth{AT_MOST}{value}")
        elif name in ("-I", "--ignore-glob"):
            marks += [LESS + "not " + one for one in value.split("|")]
        elif name in ("-d", "--gitignore"):
            marks.append(LESS + name)
        elif name in ("-a", "-f", "-s", "-h", "-p", "-D"):
            marks.append(MORE + name)
        elif name not in ("--noreport", "-C", "-n", "-F", "--dirsfirst", "-A", "--charset"):
            unknown.append(name + value)
    return "search:files:tree:" + " ".join(sorted(unknown)), marked(roots, marks)


def _fd_parts(words: list[str], cwd: str) -> tuple[tuple, str]:
    pairs, others = options(words, "etEdScjxX", _FD_VALUES)
    extensions, tests, marks = [], [], []
    ignoring, hidden = True, False
    for name, value in pairs:
        if name in ("-e", "--extension"):
            extensions.append(value)
        elif name in ("-E", "--exclude"):
            marks.append(LESS + "not " + value)
        elif name in ("-t", "--type"):
            marks.append(LESS + "type " + value[:1])
        elif name in ("-d", "--max-depth"):
            marks.append(f"{LESS}depth{AT_MOST}{value}")
        elif name in ("-H", "--hidden"):
            hidden = True
        elif name in ("-I", "--no-ignore"):
            ignoring = False
        elif name in ("-u", "--unrestricted"):
            ignoring, hidden = False, True
        elif name in ("-l", "--list-details"):
            marks.append(MORE + "long")
        elif name not in ("-c", "--color", "-a", "--absolute-path", "-j", "--threads", "-0"):
            tests.append(name + value)
    marks += [LESS + "ignored"] if ignoring else []
    marks += [] if hidden else [LESS + "not hidden"]
    pattern = others.pop(0) if others else ""
    roots = _roots(others, cwd, False)
    if len(extensions) == 1 and pattern in ("", ".") and not tests:
        key, roots = file_search("*." + extensions[0], roots)
        return (key, marked(roots, marks)), "*." + extensions[0]
    tests += ["-e" + extension for extension in extensions]
    return ("search:files:fd:" + " ".join([pattern, *sorted(tests)]), marked(roots, marks)), pattern
