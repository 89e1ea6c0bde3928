"""Recognise secrets by their own form. Pure.

The beginnings of keys are facts that those who issue them publish, so that a key that leaked can be found.
"""

from __future__ import annotations

from .random_words import looks_random

# With one of these a key begins, and nothing else does. By a character that they have, so that a text without it need not be searched for
# each; "" for those with none of these. They stay text until one is searched: every hook loads them.
_SURE = {
    "_": """
ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_ sk_prod_ rk_prod_ whsec_ api_org_
dckr_pat_ dckr_oat_ tgp_v1_ shpat_ shpca_ shppa_ shpss_ dop_v1_ doo_v1_ dor_v1_ ops_eyJ lin_api_ lin_oauth_ ntn_ rubygems_
sntrys_ sntryu_ CLOJARS_ duffel_test_ duffel_live_ lsv2_pt_ lsv2_sk_ pscale_tkn_ pscale_pw_ pscale_oauth_ sgp_ shippo_live_
shippo_test_ sbp_ sb_secret_ figd_ figo_ fo1_ fm1r_ fm2_ essu_ bkua_ CCIPAT_ phc_ phx_ waka_ rzp_live_ rzp_test_ cfut_ cfat_
glsa_ hf_ npm_ gsk_
""",
    "-": """
glpat- gldt- glrt- glft- glcbt- glptt- glagent- glimt- glsoat- glffct- gloas- sk-ant- sk-proj- sk-or- sk-svcacct- sk-admin-
xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- pplx- nvapi- GOCSPX- PMAK- sq0atp- sq0csp- NRAK- NRJS- NRII- fio-u-
HRKU- tk-us- tk-eu- xkeysib- xsmtpsib- CFPAT- AGE-SECRET-KEY- pypi-AgE
""",
    ".": "xoxe. hvs. hvb. hvr. ya29. sk.eyJ dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. amzn.mws. dt0c01. dt0s01. dt0s16. mlsn.",
    "": "GR1348941 eyJ ATATT3 ATCTT3 FLWSECK cmVmdGtu sha256~ AKIA ASIA AGPA AIDA AROA AIPA ANPA ANVA ABIA ACCA AIza EAACEdEose0cBA",
}
_SURE_CHARS = 8
# What is assigned need not be as long.
_ASSIGNED_CHARS = 4
# A beginning with two parts behind it, each so long, or so long where they are assigned.
_TWO_PARTS, _PART_CHARS, _ASSIGNED_PART_CHARS = "SG.", 16, 8
# These are beginnings of other words too: what follows must be long and look like chance.
_DOUBTFUL = {
    "_": "secret_ re_ fw_ tok_ ion_ kg_ aio_ r8_ rnd_ nfp_ glc_ rdme_ tfp_ pnu_ phs_ cio_ vck_ vcp_",
    "-": "sk- pypi- key- pubkey- sdk- pul- xai- v1.0- p8e- tskey- pat-na1- pat-eu1- access-sandbox- access-production- api- sq0idp-",
    ".": "sl. s. b. pat. SG. patu.",
    "": "SK oy2 A3T SCW EZAK EZTK ATBB AKCp ABSK LTAI TWLO dapi 1//0 FlyV1 EAAA EAAG AQVN pat",
}
_DOUBTFUL_CHARS = 16
_beginnings: dict[str, list[tuple[str, bool]]] = {}  # by the same characters; whether they are sure
# What occurs inside a key, with how many characters of it before and behind.
_INSIDE = (("Q~", 4, 28), (".atlasv1.", 10, 30), (":AA", 8, 30), (":APA91b", 8, 60), ("-us", 32, 1))
_BLOCK, _BLOCK_END = "-----BEGIN ", "-----END "
_SECRET_BLOCKS = ("PRIVATE KEY", "PGP MESSAGE")
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_WORD = _LETTERS + "_-"
# No key is longer; what comes behind is examined for itself.
_KEY_CHARS = 4_096


def spans(text: str) -> list[tuple[int, int]]:
    """Return [(begin, end)] of the secrets recognised by their form, in any order."""
    areas = _blocks(text)
    for mark in _SURE:
        if mark in text:
            for beginning, sure in _beginnings.get(mark) or _split(mark):
                if beginning in text:
                    areas += _keys(text, beginning, sure)
    for inside, before, behind in _INSIDE:
        if inside in text:
            areas += _around(text, inside, before, behind)
    return areas


def _split(mark: str) -> list[tuple[str, bool]]:
    split = [(word, table is _SURE) for table in (_SURE, _DOUBTFUL) for word in table[mark].split()]
    _beginnings[mark] = split
    return split


def without(text: str) -> str:
    """Return the text with a blank in place of every secret recognised by its form."""
    pieces, at = [], 0
    for begin, end in sorted(spans(text)):
        if begin >= at:
            pieces.append(text[at:begin])
        at = max(at, end)
    return " ".join([*pieces, text[at:]])


def _keys(text: str, beginning: str, sure: bool) -> list[tuple[int, int]]:
    least = _SURE_CHARS if sure else _DOUBTFUL_CHARS
    areas = []
    at = text.find(beginning)
    while at != -1:
        end = at + len(beginning)
        if not at or text[at - 1] not in (_LETTERS if sure else _WORD):
            end = _end(text, end, at + _KEY_CHARS)
            rest = text[at + len(beginning) : end]
            enough = _ASSIGNED_CHARS if sure and text[at - 1 : at] == "=" else least
            if len(rest) >= enough and (sure or looks_random(rest)):
                areas.append((at, end))
            if beginning == _TWO_PARTS:
                end = max(end, _two_parts_end(text, at))
                areas += [(at, end)] if end > at + len(beginning) + len(rest) else []
        at = text.find(beginning, end)
    return areas


def _two_parts_end(text: str, at: int) -> int:
    """Return the end of a key that begins here and has two parts; 0 where there is none."""
    middle = _run_end(text, at + len(_TWO_PARTS), at + _KEY_CHARS)
    end = _run_end(text, middle + 1, at + _KEY_CHARS) if text[middle : middle + 1] == "." else 0
    least = _ASSIGNED_PART_CHARS if text[at - 1 : at] == "=" else _PART_CHARS
    return end if min(middle - at - len(_TWO_PARTS), end - middle - 1) >= least else 0


def _end(text: str, at: int, most: int) -> int:
    """Return the end of a key: a dot, a slash or a plus sign belongs to it when what follows looks like chance too."""
    end = _run_end(text, at, most)
    while text[end : end + 1] in (".", "/", "+", "~"):
        following = _run_end(text, end + 1, most)
        if not looks_random(text[end + 1 : following]):
            break
        end = following
    while text[end : end + 1] == "=" and end < most:
        end += 1
    return end


def _run_end(text: str, at: int, most: int) -> int:
    while at < len(text) and at < most and text[at] in _WORD:
        at += 1
    return at


def _around(text: str, inside: str, before: int, behind: int) -> list[tuple[int, int]]:
    areas = []
    at = text.find(inside)
    while at != -1:
        begin = at
        while begin and at - begin < _KEY_CHARS and text[begin - 1] in _WORD:
            begin -= 1
        end = _end(text, at + len(inside), at + _KEY_CHARS)
        if at - begin >= before - 1 and end - at - len(inside) >= behind and looks_random(text[begin:end]):
            areas.append((begin, end))
        at = text.find(inside, end)
    return areas


def _blocks(text: str) -> list[tuple[int, int]]:
    """Return [(begin, end)] of armoured keys and messages, cut off or whole."""
    areas = []
    at = text.find(_BLOCK)
    while at != -1:
        if any(name in text[at : at + 60] for name in _SECRET_BLOCKS) and text[at + len(_BLOCK)].isalpha():
            closing = text.find(_BLOCK_END, at)
            end = text.find("-----", closing + len(_BLOCK_END)) if closing != -1 else -1
            end = end + 5 if end != -1 else len(text)
            areas.append((at, end))
        else:
            end = at + len(_BLOCK)
        at = text.find(_BLOCK, end)
    return areas
