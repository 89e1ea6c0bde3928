"""A shell command line, split into simple commands. Pure, linear in the length of the line, never raises.

Follows the quoting and grouping rules of the POSIX shell language with bash's additions (`$'..'`, `<<<`, `&>`, `|&`, `<(..)`, `[[`), as far
as they matter for telling which programs run. Nothing is expanded: `$x`, `$(..)` and globs stay as they are written.
"""

from __future__ import annotations

from .command import AND, KEYWORDS, OR, Command, is_assignment, parted, read_redirect, value_of


def parse(line: str) -> list[Command]:
    """Return the simple commands of a line, in order; empty when there are none or the quoting is broken.

    The target of a `<<` redirect is the text of the here-document."""
    if "\x00" in line:
        line = line.replace("\x00", "")
    held: list[str] = []
    text = without_quoting(line, held)
    if text is None:
        return []
    commands = None if "(" in text or ")" in text or ">|" in text else _listed(text, held)
    if commands is None:
        from . import brackets  # one line of 27

        commands = brackets.read(text, held, line)
    return commands


def without_quoting(line: str, held: list[str]) -> str | None:
    """Return the line with quoted and substituted texts moved to `held`; None when a quote or bracket is never closed."""
    if "\\" in line or "`" in line or "#" in line or "$(" in line or "${" in line or "$'" in line:
        return _scanned(line, held)
    if "<<" in line or "((" in line or "<(" in line or ">(" in line:
        return _scanned(line, held)
    double = '"' in line
    if "'" in line:
        if double:
            return _scanned(line, held)
        pieces = line.split("'")
    elif double:
        pieces = line.split('"')
    else:
        return line
    if not len(pieces) & 1:
        return None
    for at in range(1, len(pieces), 2):
        held.append(pieces[at])
        pieces[at] = f"\x00{at >> 1}\x00"
    return "".join(pieces)


def _scanned(line: str, held: list[str]) -> str | None:
    from .quoting import Scanner  # a fifth of this package, for lines that mix kinds of quoting

    return Scanner(line, held).scan()


def _listed(text: str, held: list[str]) -> list[Command] | None:
    """Return the commands of a line that has no more structure than lists and pipelines, which most lines have; else None."""
    commands = []
    if ";" in text:
        text = text.replace(";", "\n")
    if "&" in text:
        text = text.replace("&&", "\n" + AND)
    if "|" in text:
        text = text.replace("||", "\n" + OR)
    joined = ""
    for pipeline in text.split("\n"):
        if pipeline[:2] == AND or pipeline[:2] == OR:
            joined = pipeline[:2]
            pipeline = pipeline[2:]
        if not pipeline or pipeline.isspace():
            continue  # a command follows in the next line
        for stage, part in enumerate(pipeline.split("|") if "|" in pipeline else (pipeline,)):
            words = part.split()
            if not words:
                return None  # it goes on in the next line
            assignments = []
            redirects: list[tuple[str, str]] = []
            if ">" in part or "<" in part or "&" in part:
                rest = _without_redirects(words, redirects, held)
                if rest is None:
                    return None
                words = rest
            while words and "=" in words[0] and is_assignment(words[0]):
                assignments.append(value_of(words.pop(0), held))
            if words and words[0] in KEYWORDS:
                return None
            if "\x00" in part:
                words = [value_of(word, held) for word in words]
            if words or assignments or redirects:
                commands.append(Command(words, assignments, redirects, stage, (), joined))
        joined = ""
    return commands


def _without_redirects(words: list[str], redirects: list[tuple[str, str]], held: list[str]) -> list[str] | None:
    """Return the words that are no redirections, which go to `redirects`; None for a `&` that is not part of one."""
    rest = []
    operator = ""
    for word in words:
        if operator:
            if "&" in word:
                return None
            redirects.append((operator, value_of(word, held)))
            operator = ""
        elif word == "2>&1":
            redirects.append(("2>&", "1"))
        elif ">" in word or "<" in word:
            if "&" in word and len(parted(word)) > 1:
                return None
            before, operator = read_redirect(word, redirects, held)
            if before:
                rest.append(before)
        elif "&" in word:
            return None
        else:
            rest.append(word)
    return rest
