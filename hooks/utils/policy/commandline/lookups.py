"""Read which parts a search or a listing on the command line covers. Pure.

Options are those of the GNU, BSD and ripgrep manuals; an unknown option is taken to have no value.
"""

from __future__ import annotations

from ..parts import content_search, file_search, here_only, normal_path

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
    " --pre --engine --max-filesize --binary-files --devices --directories --label --path-separator --depth".split()
)
_LONG_MARKS = {
    "--ignore-case": "i", "--invert-match": "v", "--word-regexp": "w", "--line-regexp": "x", "--fixed-strings": "F", "--literal": "Q",
    "--files-without-match": "L", "--multiline": "U",
}  # fmt: skip
_LIMITS = {"-g": "glob", "--glob": "glob", "--iglob": "glob", "--include": "glob", "-t": "type", "--type": "type"}
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
    marks = ""
    limits: list[str] = []
    extended = program not in ("grep", "git grep", "zgrep", "ggrep")
    for name, value in pairs:
        letter = _LONG_MARKS.get(name) or name[1:]
        if name in ("-e", "--regexp"):
            patterns.append(value)
        elif name in _LIMITS:
            # An exclusion narrows little, and a search with it is meant as the same.
            if value[:1] != "!":
                limits.append(f" {_LIMITS[name]}={value}")
        elif name in ("-E", "-P", "--extended-regexp", "--perl-regexp", "-F", "--fixed-strings"):
            extended = True
            marks += "F" if letter == "F" else ""
        elif name == "--files" and program == "rg":
            pattern = "".join(limits[:1]).partition("=")[2] or "*"
            return file_search(pattern, _roots(others, cwd, piped)), "--files " + pattern
        elif letter in letters or name in _LONG_MARKS:
            marks += letter
    if not patterns and others:
        patterns.append(others.pop(0))
    pattern = "|".join(patterns)
    if not extended:
        # A basic expression writes `\|` for what all the others write `|`.
        pattern = pattern.replace("\\|", "|")
    if "F" in marks and pattern.replace(" ", "").replace("_", "").isalnum():
        marks = marks.replace("F", "")
    flags = "".join(sorted({*marks} - {"i"})) if marks else ""
    return content_search("".join([pattern, *sorted(limits)]), _roots(others, cwd, piped), "i" in marks, flags), pattern


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
    tests = [test for test in words[at:] if test not in ("-print", "-print0", "-ls")]
    title = " ".join(tests) or " ".join(words[begin:at])
    if "-type" in tests and tests[-1] != "-type" and tests[tests.index("-type") + 1] == "f":
        place = tests.index("-type")
        del tests[place : place + 2]
    if len(tests) == 2 and tests[0] == "-name" and "/" not in tests[1]:
        return file_search(tests[1], roots), tests[1]
    if "-maxdepth" in tests:
        roots = [here_only(root) for root in roots]
    return ("search:files:find:" + " ".join(tests), roots), title


def listing_parts(program: str, words: list[str], cwd: str) -> tuple[tuple, str]:
    """Return the part of `ls`, `tree`, `fd` and their like."""
    if program in ("fd", "fdfind"):
        return _fd_parts(words, cwd)
    if program == "tree":
        pairs, others = options(words, "LIPoT", _TREE_VALUES)
        limits = " ".join([f"{name}{value}" for name, value in pairs if name in ("-L", "-P", "-I", "--level", "-d")])
        roots = _roots(others, cwd, False)
        return ("search:files:tree:" + limits, [here_only(root) for root in roots] if "-L" in limits else roots), " ".join(others)
    pairs, others = options(words, "ITw", _TREE_VALUES)
    roots = _roots(others, cwd, False)
    if ("-R", "") in pairs or ("--recursive", "") in pairs or ("--tree", "") in pairs or ("-T", "") in pairs:
        return ("search:files:ls:R", roots), " ".join(others)
    return ("search:files:ls:", [here_only(root) for root in roots]), " ".join(others)


def _fd_parts(words: list[str], cwd: str) -> tuple[tuple, str]:
    pairs, others = options(words, "etEdScjxX", _FD_VALUES)
    extensions = [value for name, value in pairs if name in ("-e", "--extension")]
    pattern = others.pop(0) if others else ""
    roots = _roots(others, cwd, False)
    if len(extensions) == 1 and pattern in ("", "."):
        return file_search("*." + extensions[0], roots), "*." + extensions[0]
    tests = sorted(
        [f"{name}{value}" for name, value in pairs if name in ("-e", "-t", "-d", "-g", "-i", "-F", "--glob", "--extension", "--type")]
    )
    return ("search:files:fd:" + " ".join([pattern, *tests]), roots), pattern
