"""Secrets out of everything that is kept of a command line or a result's first line. Pure, and never slower than the text is long:
every repetition has a bound, because a line comes from outside and a hook has no time.

Where a form is not clear (a word behind a name such as TOKEN), it is masked: a label that says less is better than one that leaks.
"""

from __future__ import annotations

MASK = "****"
# What one form leaves may be what another looks for.
_PASSES = 8

# Words in the name of a secret: they matter when a value follows the name.
_WORDS = ("token", "secret", "pass", "pwd", "key", "auth", "credential", "signature")
_NAME_CHARS = 40
# What ends a bare word.
_STOPS = " \t\r\n\"'&;|)<>"
# Ends of names whose value is no secret, although the name speaks of one.
_HARMLESS_ENDS = ("stdin", "file", "path", "dir", "prompt", "type", "count", "limit", "size", "ttl", "expiry", "expires")
# Words after which a name is followed by its value: `aws configure set NAME VALUE`.
_SETTERS = frozenset(("set", "--set", "--add", "config", "--global", "--local"))

_NAME = (
    r"(?i:token(?!iz)s?|secret|passw(?:or)?d|passphrase|passcode|pwd|credential|signature"
    r"|(?:api|access|private|secret|signing|encryption|master|account|storage|license|deploy|service|shared)[_-]?key"
    r"|authn?(?![a-z])|(?:store|key)pass(?![\w-]))"
    r"|(?<=[A-Z0-9]_)KEY(?=\s{0,3}=)|(?i:(?<=[?&])key(?==))|(?i:(?<![a-z])pass(?:in|out)?(?![\w-]))|Pass(?![a-z])"
)
_NAMED = r"(" + _NAME + r")([\w-]{0,40})((?:\\{0,4}[\"'])?)(\s{0,3}=(?!=)\s{0,3}|\s{0,3}:(?!:)\s{0,3}|\s{1,3})"
# Passwords behind an option that means something else to other programs.
_OPTIONS = (
    r"(?:(?:mysql|mariadb)[\w-]{0,20}\b[^|;&\n]{0,300}?\s-p|\b7z\w?\b[^|;&\n]{0,300}?\s-p|\bsshpass\s{1,3}-p\s{0,3}"
    r"|\bredis-cli\b[^|;&\n]{0,300}?\s-a\s{1,3}|\b(?:login|mongo\w{0,10})\b[^|;&\n]{0,300}?\s-p\s{1,3}"
    r"|\b(?:sqlcmd|zip|unzip)\b[^|;&\n]{0,300}?\s-P\s{0,3}|\bldap\w{1,10}\b[^|;&\n]{0,300}?\s-w\s{1,3}"
    r"|\bgh\ssecret\sset\b[^|;&\n]{0,300}?\s(?:-b|--body)[\s=]{0,3}|\bcurl\b[^|;&\n]{0,300}?\s(?:-b|--cookie)[\s=]{1,3})"
)
_WORD = r"(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s\"'&;|)]+)"
# Keys and tokens that their beginning gives away.
KEYS = (
    r"\b(?:sk-[\w-]{8,}|[srp]k_(?:live|test)_\w{8,}|whsec_\w{8,}|gh[oprsu]_\w{8,}|github_pat_\w{8,}|glpat-[\w-]{8,}|xox[abeprs]-[\w-]{8,}"
    r"|xapp-[\w-]{8,}|npm_\w{8,}|pypi-[\w-]{8,}|hf_\w{8,}|dckr_pat_[\w-]{8,}|shpat_\w{8,}|hvs\.[\w-]{8,}|gsk_\w{8,}|ya29\.[\w-]{8,}"
    r"|A[KS]IA[A-Z0-9]{12,}|AIza[\w-]{20,}|eyJ[\w-]{8,}(?:\.[\w-]*){0,2})"
)
_HEADERS = r"(?i)(\b(?:x-[\w-]{0,30}(?:key|token|auth|secret|signature)|api-?key|cookie|set-cookie)\s{0,3}:\s{0,3})[^\"'\n]+"
_USERS = (
    r"(\s(?:-u|-U|--user|--proxy-user|-user)[\s=]{0,3}[\"']?(?!\d{1,9}:\d{1,9}\b)[^\s:\"'=]{1,256}):(?!//)"
    r"(?:[^\s\"']+|(?<=[\"'].)[^\"']+)"
)
_NO_PORT = r"(?!\d{1,5}(?:[/\"'\s]|\Z))"
_SCHEMES = "bearer|basic|token|digest|apikey|negotiate"
# (what a text must hold, in lower case, for the form to be looked for; the form; what stands for it). In this order.
_FORMS = (
    (("-----begin",), r"(?s)-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|\Z)", MASK),
    (("://",), r"(://[^\s/:@\"'<>]{0,256}):" + _NO_PORT + r"(?:[^\s/\"'<>]{1,512}@|[^\s@\"'<>]{1,512}@)", r"\1:" + MASK + "@"),
    (("://",), r"(://[^\s/:@\"'<>]{0,256}):" + _NO_PORT + r"[^\s/@\"'<>]{1,512}\Z", r"\1:" + MASK),  # cut off
    (("://",), r"(://)[^\s/:@\"'<>]{16,512}@", r"\1" + MASK + "@"),
    (("authorization",), r"(?is)([\"'])((?:proxy-)?authorization\s{0,3}:\s{0,3})(?:(?!\1).)+", r"\1\2" + MASK),
    (
        ("authorization",),
        r"(?i)(\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:(?:" + _SCHEMES + r")\s{1,3})?)[^\s\"'&;|)]+",
        r"\1" + MASK,
    ),
    (("machine ",), r"(\bmachine\s{1,3}\S{1,256}\s{1,3}login\s{1,3}\S{1,256}\s{1,3}password\s{1,3})[^\s\"']+", r"\1" + MASK),
    (("bearer", "basic"), r"(?i)(\b(?:bearer\s{1,3}|basic\s{1,3}(?=[a-z+/]*[\d=])))[a-z0-9._~+/=-]{8,}", r"\1" + MASK),
    (("key:", "token:", "auth:", "secret:", "signature:", "cookie:"), _HEADERS, r"\1" + MASK),
    ((" -u", "-user"), _USERS, r"\1:" + MASK),
    (("sig=", "code=", "pw=", "jwt=", "sid=", "session="), r"([?&](?:sig|code|pw|jwt|sid|session)=)[^&\s\"'#]+", r"\1" + MASK),
    (
        ("mysql", "mariadb", "7z ", "sshpass", "redis-cli", "login ", "mongo", "sqlcmd", "zip ", "ldap", "gh secret ", "curl "),
        r"(" + _OPTIONS + r")(?!-)(?:" + _WORD + r")",
        r"\1" + MASK,
    ),
    (
        tuple(
            "sk- k_live_ k_test_ whsec_ ghp_ gho_ ghs_ ghu_ ghr_ github_pat_ glpat- xox xapp- akia asia aiza ya29. eyj npm_ pypi- hf_"
            " dckr_pat_ shpat_ hvs. gsk_".split()
        ),
        KEYS,
        MASK,
    ),
)

_MARKS = tuple({mark: None for marks, _, _ in _FORMS for mark in marks})


def mask(text: str) -> str:
    """The text with every secret of a known form replaced by ****; masking twice changes nothing more."""
    for _ in range(_PASSES):
        masked = _masked_once(text)
        if masked == text:
            break
        text = masked
    return text


def _masked_once(text: str) -> str:
    lowered = text.lower()
    if not _may_hold_a_secret(lowered):
        return text
    forms = [form for form in _FORMS if _holds(lowered, form[0])]
    named = any(word in lowered and _names_a_value(lowered, word) for word in _WORDS)
    import re  # costs a hook 9 ms, and each form 1 ms more: only for texts that may hold a secret

    for _, form, masked in forms:
        text = re.sub(form, masked, text)
    return _without_named(text, re.finditer(_NAMED, text)) if named else text


def _may_hold_a_secret(lowered: str) -> bool:
    """What most texts answer with no, in plain loops: this looks at every command line."""
    for mark in _MARKS:
        if mark in lowered:
            return True
    return any(word in lowered and _names_a_value(lowered, word) for word in _WORDS)


def _without_named(text: str, names) -> str:
    pieces = []
    at = 0
    for found in names:
        if found.start() >= at and _has_value(text, found):
            begin, end = _value(text, found.end(), ":" in found.group(4))
            if end > begin:
                pieces += (text[at:begin], MASK)
                at = end
    return "".join(pieces) + text[at:]


def _holds(lowered: str, marks: tuple) -> bool:
    return any(mark in lowered for mark in marks)


def _names_a_value(lowered: str, word: str) -> bool:
    """Whether the word is part of a name that a value may follow: NAME=, NAME:, "NAME": or --name value."""
    start = lowered.find(word)
    while start >= 0:
        end = start + len(word)
        while end < len(lowered) and (lowered[end].isalnum() or lowered[end] in "_-\"'\\"):
            end += 1
        if lowered[end : end + 4].lstrip()[:1] in ("=", ":"):
            return True
        before = lowered[max(0, start - _NAME_CHARS) : start].split(" ")
        if end < len(lowered) and ("-" in before[-1] or not _SETTERS.isdisjoint(before)):
            return True
        start = lowered.find(word, end)
    return False


def _has_value(text: str, found) -> bool:
    """Whether what follows a name is its value. Behind a blank that is so for options, and for what is set by name."""
    name, rest, quote, between = found.groups()
    whole = (name + rest).lower()
    if whole.endswith(_HARMLESS_ENDS) or (whole.endswith("tokens") and text[found.end() : found.end() + 1].isdigit()):
        return False
    if not between.isspace():
        return "=" in between or bool(quote) or whole not in ("auth", "pass")
    words = text[max(0, found.start() - 2 * _NAME_CHARS) : found.start()].split(" ")
    following = text[found.end() : found.end() + 2]
    if following[:1] in ("-", "|", "&", ";", ">", "<", "") or following[1:] == ">":
        return False
    return words[-1].lstrip("\"'\n\t").startswith("-") or (len(words) > 1 and words[-2] in _SETTERS)


def _value(text: str, at: int, is_member: bool) -> tuple:
    """(begin, end) of the value at a place: a shell word, or a member of an object, whose quotes stay. Empty for a variable."""
    first = text[at : at + 1]
    if first in ("'", '"'):
        return _quoted(text, at, is_member)
    if first == "$" and _is_variable(text[at + 1 : at + 2]):
        return at, at
    begin = at
    while text[begin : begin + 1] == "\\":
        begin += 1
    if begin > at and text[begin : begin + 1] in ("'", '"'):  # an object inside a quoted word
        end = text.find(text[at : begin + 1], begin + 1)
        return begin + 1, end if end >= 0 else len(text)
    return at, _word_end(text, at, is_member)


def _is_variable(following: str) -> bool:
    return following.isalpha() or following in ("(", "{", "_")


def _quoted(text: str, at: int, is_member: bool) -> tuple:
    """What stands in quotes; nothing when the quote closes one that was opened before the name, or holds a variable."""
    quote = text[at]
    end = at + 1
    while end < len(text) and text[end] != quote:
        end += 2 if text[end] == "\\" and quote == '"' else 1
    following = text[at + 1 : at + 2]
    if not following or following in " \t\n;&|)" or (following in "'\"" and end >= len(text)):
        return at, at
    if following == "$" and quote == '"' and not is_member and _is_variable(text[at + 2 : at + 3]):
        return at, at
    if is_member or text[end + 1 : end + 2] in _STOPS:
        return at + 1, min(end, len(text))
    return at, _word_end(text, end + 1, is_member)  # the shell joins it with what follows


def _word_end(text: str, at: int, is_member: bool) -> int:
    """The end of a bare word, with what is quoted inside it."""
    end = at
    while end < len(text):
        char = text[end]
        if char == "\\":
            end += 2
        elif char in "'\"" and end > at:
            closing = text.find(char, end + 1)
            inner = text[end + 1 : closing]
            if closing < 0 or not inner or inner != "".join(inner.split()):
                break
            end = closing + 1
        elif char in _STOPS or (is_member and char in ",}]"):
            break
        else:
            end += 1
    return min(end, len(text))
