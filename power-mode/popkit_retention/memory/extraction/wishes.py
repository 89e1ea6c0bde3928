"""Finds the standing directives in what a person typed, word for word. Pure.

A directive is a whole sentence that says by itself what to do: pasted text (code, quotations, long texts) is not the person's, and a
sentence that is cut off, or whose object stands elsewhere ("I'd prefer that"), tells the next session nothing.
"""

from __future__ import annotations

import re

from popkit_retention.core.policy.masking import mask

from .. import sentences

LONGEST = 300  # characters of a directive; a longer text is pasted
_LEAST_WORDS = 3
_LEAST_CLAUSE = 3  # words behind "remember that"
_LONGEST_PROMPT = 4_000
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TAGGED = re.compile(r"<([A-Za-z][\w-]*)\b[^<>]*>.*?(?:</\1>|\Z)", re.DOTALL)
_DRAWN = re.compile(r"[|\u2500-\u257f]|[{}]|=>|\S+=\S+\s\S+=|\b\d{1,2}:\d\d:\d\d\b|^\s*at \S+\(")  # tables, sketches, code, logs
_BULLET = re.compile(r"^\s*(?:[-*•]\s+|\d+[.)]\s+)")
# Texts that the client or another program writes in the user's place, and plans that a model wrote.
_PASTED = ("Implement the following plan", "This session is being continued", "Base directory for this skill", "[Request interrupted", "#")
_LEAD = (
    r"^(?:(?:please|and|also|but|so|ok(?:ay)?|btw|by the way|note|important|claude|you (?:should|must|need to)|we(?: should| must)?|just"
    r"|as a rule|in this (?:repo|repository|project|codebase))[,:]?\s+)*"
)
_DIRECTIVE = re.compile(
    _LEAD + r"(?:(?P<recalls>remember\s*(?:that|to|this|:|,)|keep in mind\b(?: that\b)?)|(?:do not|don['’]t) (?:ever|forget)\b"
    r"|(?P<how_often>(?:always|never)\s+)(?!mind\b)[a-z]|from now on\b|going forward\b|in (?:the )?future,"
    r"|make sure (?:to|you|that you) (?:always|never)\b"
    r"|(?P<prefers>(?:i|we)(?: always| would|['’]d)? prefer\b(?: that\b)?)|prefer\s+(?=[a-z]))"
    r"|^[^\"'“]+\b(?:from now on|going forward)[.!]?$",
    re.IGNORECASE,
)  # fmt: skip
_FROM_NOW_ON = re.compile(r",? \b(?:from now on|going forward)[.!]?$", re.IGNORECASE)
_OPEN = (",", ":", ";", "…", "...", "-", "—", "(", "?")
_ENDS = re.compile(r"[\w'’`]+(?=[.!)\"'”’*_\s]*$)")
_WORDS = re.compile(r"[^\W_][\w'’/.@-]*|`[^`]+`")
# Words behind which something is missing.
_DANGLING = frozenset(
    "a an the and or but nor if when whenever while because since unless until although as than like of to with without for from in"
    " on at by into onto via about between that which who whose whether how what where following follows below instead e.g i.e eg ie"
    " namely your my our their its is are be was were will would should must can could may might not always never every each any you"
    " we i".split()
)
_PRONOUNS = frozenset("it this that these those them so one ones both either neither him her us there here".split())
# Words of which a wish cannot consist: its object stands elsewhere in the conversation.
_EMPTY = _DANGLING | _PRONOUNS | frozenset(
    "do does doing did done use using make have has had go going keep take put get say says said please just also too again anyway instead"
    " really i'd we'd i’d we’d now then first second third last next other another same former latter whole more most much very way"
    " ways thing things something anything nothing option options approach suggestion version variant idea solution proposal"
    " alternative a b c d ever forget future forward mind remember prefer".split()
)  # fmt: skip
_PREPOSITIONS = frozenset("for in on at with without when if while after before during as since because unless until from by about".split())
_SUBJECTS = frozenset("i we you it they there this these those he she".split())
_ARTICLES = frozenset("a an the no all any its their our your my".split())
_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|be|has|have|had|do|does|did|can|could|should|shall|will|would|must|may|might|needs?|cannot)\b|n['’]t\b|\w['’](?:s|re|ll|ve|d|m)\b",
    re.IGNORECASE,
)
_VERBS = frozenset(
    "add allow apply ask avoid belong break build call change check commit compile come contain cost count create default delete"
    " depend deploy ensure exist expect fail fix happen follow force generate get give go handle hold ignore import include install"
    " keep know leave lint list live load log look lose make mark match matter mean merge move name need open own pass pin point"
    " prefer push put read refer release rely remove rename replace require reset return run save say send ship show sign skip speak"
    " split start stay stop store support take test throw touch track treat trust try turn update use want wrap write work".split()
)
# Behind "always" and "never": no demand but an observation ("never had this"), or no verb.
_OBSERVED = frozenset(
    "the a an when if in on at for to of and or but that this these those it is was were are been had has have did does got saw seen"
    " went came said knew thought made took gave found felt kept left lost ran wrote broke again".split()
)
_BASE = frozenset("focus alias bias canvas embed".split())


def directives(prompt: str) -> list[str]:
    """Return the sentences of a prompt in which the user gives a standing instruction, in order, each on one line. A sentence that is cut
    off, quoted or pasted does not count, nor one that says nothing without those around it."""
    text = _TAGGED.sub("\n", _FENCED.sub("\n", prompt))
    if len(text) > _LONGEST_PROMPT or text.lstrip().startswith(_PASTED):
        return []
    notes: list[str] = []
    for sentence in sentences.split(text):
        directive = " ".join(_BULLET.sub("", sentence.text).split())
        if (
            len(directive.split()) >= _LEAST_WORDS
            and len(directive) <= LONGEST
            and directive[0] not in ">\"'“‘`#"
            and not _DRAWN.search(directive)
            and (match := _DIRECTIVE.search(directive))
            and _is_whole(directive, match)
        ):
            directive = "".join(char for char in mask(directive) if char.isprintable())
            if directive not in notes:
                notes.append(directive)
    return notes


def _is_whole(sentence: str, match: re.Match[str]) -> bool:
    """Return whether a sentence has a predicate with all that belongs to it. `match`: where it is a directive."""
    plain = _FROM_NOW_ON.sub("", sentence).rstrip("*_ ")
    if (plain.lower().endswith(_OPEN) and not plain.endswith("/...")) or plain.count("`") % 2 or plain.count("(") != plain.count(")"):
        return False
    last = _ENDS.search(plain)
    words = [word.lower() for word in _WORDS.findall(plain)]
    ending = last[0].lower() if last else ""
    if ending in _DANGLING - {"not"} and (ending not in _PRONOUNS):
        return False
    told = [word for word in words if word.strip(".'’") not in _EMPTY]
    if len(told) < (2 if ending in _PRONOUNS else 1):
        return False
    rest = plain[match.end("recalls") :] if match["recalls"] else plain[match.end("prefers") :] if match["prefers"] else ""
    if match["how_often"]:
        return _demands(plain[match.end("how_often") :].split()[0].strip(",.").lower())
    if match["recalls"] and not match["recalls"].lower().endswith("to"):
        names = match["recalls"].lower().endswith("mind") and len(told) > 1 and rest.split()[0].lower() not in _PREPOSITIONS
        return names or _is_clause(rest)
    return not match["prefers"] or not match["prefers"].lower().endswith("that") or _is_clause(rest)


def _demands(verb: str) -> bool:
    """Return whether the word behind "always" or "never" tells somebody to do something."""
    if verb in _OBSERVED:
        return False
    return verb in _BASE or verb.endswith(("eed", "ss")) or not verb.endswith(("ed", "s"))


def _is_clause(text: str) -> bool:
    """Return whether a text can stand for a sentence: it has a subject and a verb, behind what it begins with."""
    words = [word.lower().strip("*_.,;:!\"'”’)") for word in text.split()]
    if len(words) < _LEAST_CLAUSE:
        return False
    if words[0] in _PREPOSITIONS:
        head, comma, main = text.partition(", ")
        return bool(comma and len(main.split()) > 1) or bool(_AUXILIARY.search(head)) or not _SUBJECTS.isdisjoint(words[1:-1])
    return bool(_AUXILIARY.search(text)) or not _SUBJECTS.isdisjoint(words[:-1]) or any(map(_is_verb, words[1:], [*words[2:], ""]))


def _is_verb(word: str, following: str) -> bool:
    """Return whether a word may be a verb with its subject: one that is known, or one in -s that an object follows."""
    if word.endswith("s") and not word.endswith("ss") and following in _ARTICLES:
        return True
    stems = (word, word[:-1], word[:-2], word[:-3] + "y")
    return word in _VERBS or (word.endswith(("s", "d")) and any(stem in _VERBS for stem in stems))
