"""Secrets behind a name: `TOKEN=…`, `--password …`, `"api_key": "…"`, `environ["X_KEY"] = "…"`, in the headers of a request. Pure.

Patterns end with what they mask, and only there is a repetition without a bound: what follows cannot make them try again.
"""

from __future__ import annotations

from .. import random_words
from .line import is_variable, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

# Words in the name of a secret: they matter when a value follows the name.
_WORDS = ("token", "secret", "pass", "pwd", "key", "auth", "credential", "signature", "otp", "mnemonic", "psk", "pw", "cred", "appid")
_LEAST_PIN = 4
# Ends of names: whose value may be words; whose value never is.
_PHRASE_ENDS, _TOKEN_ENDS = ("word", "wd", "phrase", "monic"), ("token", "auth", "key", "credential", "seconds")
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NAME_CHARS = 40
# Ends of names whose value is no secret, although the name speaks of one.
_HARMLESS_ENDS = tuple(
    "stdin file path dir prompt type count limit size ttl expiry expires sock socket keys url uri endpoint name keyid key_id key-id"
    " keyref authentication authentications"
    " _ids length enabled required policy version pattern patterns regex field header expired store provider manager".split()
)
_HARMLESS = frozenset(
    "true false yes no on off null none nil undefined string str int integer number bool boolean required optional any bytes object basic"
    " bearer digest oauth oauth2 iam password token secret hidden masked redacted".split()
)
# Names of these ends have a secret as their value only if it looks like chance: `--secret-id`, `tokens`, `secrets:check`.
_OFTEN_HARMLESS = ("id", "tokens", "secrets", "credentials", "passwords", "tokens-per-chunk")
_EXPRESSIONS = tuple(
    "os.environ os.getenv process.env env. self. this. config. secrets. settings. env: file: fd: stdin prompt: ${"
    " $( your get- read-host".split()
)
# Types of a column, behind a colon: `reset_token:string:uniq`.
_TYPES = frozenset("string text integer bigint digest references binary boolean".split())
# What a command does with secrets, as a word behind them and a colon: `secret:create`.
_ACTIONS = frozenset(
    "create list ls set add put get delete remove rm push pull edit show view update import export rotate generate".split()
)
_PUBLIC = ("public_", "public-", "public", "pub_", "pub-", "Public", "PUBLIC_", "PUB_")
# Words after which a name is followed by its value: `aws configure set NAME VALUE`.
_SETTERS = frozenset(("set", "--arg", "--set", "--add", "config", "--global", "--local", "setenv", "-Ux", "-gx", "-x"))

_NAME = (
    r"(?i:token(?!iz)s?|secret|passw(?:or)?d|passphrase|passcode|pwd|credential|signature|mnemonic|psk|creds?(?![a-z])|appid|(?<![a-z])pw(?![a-z])|(?<![a-z])otp(?![a-z])"
    r"|(?:api|access|private|secret|signing|encryption|master|account|storage|license|deploy|service|shared|auth|app|client|consumer)[_-]?key"
    r"|authn?(?![a-z])|(?:store|key|ssh|db|user|root|admin)pass(?![\w-]))"
    r"|(?<=[A-Z0-9]_)KEY(?=\\{0,4}[\"'\]]{0,2}\s{0,3}[=:,])|(?i:(?<=[?&])key(?==)|(?<=:)key(?==[0-9a-f]{16}))|(?i:(?<![a-z])pass(?:in|out)?(?![\w-]))|P(?:ass|w)(?![a-z])"
)
_NAMED = (
    r"(" + _NAME + r")([\w-]{0,40})((?:\\{0,4}[\"'])?[\]}]?)"
    r"(\s{0,3}=(?!=)\s{0,3}|:[-=](?=[^}\s]{1,200}\})|\s{0,3}:\s{0,3}&?\w{1,16}\s{0,3}=\s{0,3}|\s{0,3}:(?!:)\s{0,3}|>(?=[^<>\s])"
    r"|\s{1,3}value\s?[=:]\s?|\\s[*+]=\\s[*+]\[[\"']{1,3}\]|,\s{0,3}(?=\\{0,4}[\"'])|\s{1,3})"
)
_SCHEMES = "bearer|basic|token|digest|apikey|negotiate"
# What a text must hold, in lower case, for a form to be looked for; the form: what follows its last group is masked.
_FORMS = (
    (
        ("authorization",),
        r"(?is)([\"'])((?:proxy-)?authorization\s{0,3}:\s{0,3}(?:(?:" + _SCHEMES + r")\s{1,3})?)(?:(?!\1).)+",
    ),
    (
        ("authorization",),
        r"(?i)(\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:(?:" + _SCHEMES + r")\s{1,3})?)[^\s\"'&;|)]+",
    ),
    (("bearer", "basic"), r"(?i)(\b(?:bearer|basic)\s{1,3}(?=[a-z._~+/-]{0,500}[\d=]))[a-z0-9._~+/=-]{8,}"),
    (
        ("key:", "token:", "auth:", "secret:", "signature:", "cookie:"),
        r"(?i)(\b(?:x-[\w-]{0,30}(?:key|token|auth|secret|signature)|api-?key|cookie|set-cookie)\s{0,3}:\s{0,3})[^\"'\n]+",
    ),
    (
        tuple(mark + name for mark in "?&" for name in ("sig=", "code=", "pw=", "jwt=", "sid=", "session=")),
        r"([?&](?:sig|code|pw|jwt|sid|session)=)[^&\s\"'#]+",
    ),
)


def spans(text: str) -> list[tuple[int, int]]:
    """Return [(begin, end)] of the secrets behind names, in any order."""
    lowered = text.lower()
    forms = [form for marks, form in _FORMS if any(mark in lowered for mark in marks)]
    named = _named(lowered)
    if not (forms or named):
        return []
    import re  # costs a hook 9 ms, and each form 1 ms more: only for texts that may hold a secret

    secrets = [(match.end(match.re.groups), match.end()) for form in forms for match in re.finditer(form, text)]
    secrets = [(begin, end) for begin, end in secrets if not _is_set_elsewhere(text[begin:end])]
    at = 0
    for match in re.finditer(_NAMED, text) if named else ():
        if match.start() >= at and _has_value(text, match):
            begin, end = value_at(text, match.end(), ":" in match.group(4))
            if not _is_harmless(text[begin : min(end, begin + _NAME_CHARS)], match, _is_call_ended(text, begin, end)):
                secrets.append((begin, end))
                at = end
    return secrets


def _is_harmless(value: str, match: Match[str], is_bare: bool) -> bool:
    """Return whether a value is none of a secret: a yes or no, a type, an expression of a program, a placeholder."""
    lowered = value.lower()
    whole = (match.group(1) + match.group(2)).lower()
    if lowered in _HARMLESS or lowered.startswith(_EXPRESSIONS) or not any(char.isalnum() for char in value):
        return True
    if match.group(4) == ":" and (lowered in _ACTIONS or lowered.partition(":")[0] in _TYPES):
        return True
    if _is_expression(match, value) or (":" in match.group(4) and not match.group(3) and _is_message(match, value)):
        return True
    call, parenthesis, _ = value.partition("(")
    if parenthesis and is_bare and len(call) > 2 and _is_name(call):
        return True
    if whole == "pass" and value.isdigit():
        return len(value) < _LEAST_PIN or match.string[: match.start()][-1:] not in ("_", "-")  # so many tests, or the second pass
    if whole == "secret" and (lowered.startswith("id=") or "secrets versions " in match.string[: match.start()]):
        return True
    return whole.endswith(_OFTEN_HARMLESS) and not random_words.looks_random(value)


def _is_name(word: str) -> bool:
    """Return whether a word may be the name of a variable or of a function."""
    return word.replace(".", "").replace("_", "").isalpha()


def _is_expression(match: Match[str], value: str) -> bool:
    """Return whether a value without quotes is an item or a type (`tokens[0]`, `Optional[str]`), a call that goes on, or called as the name
    is."""
    if match.string[match.end() : match.end() + 1] in ("'", '"'):
        return False
    head = value.replace("(", "[").partition("[")[0]
    goes_on = value.count("[") + value.count("(") > value.count("]") + value.count(")")
    if head != value and len(head) > 2 and _is_name(head) and (goes_on or value[-1] == "]"):
        return True
    called = value.rstrip(",;)").lower()
    return called.endswith((match.group(1) + match.group(2)).lower()) and _is_name(called)


def _is_message(match: Match[str], value: str) -> bool:
    """Return whether a name and a colon begin what a program says, or a sentence: `'auth3: expected ' + kind`, `"token: %w"`. What is
    called a password without a number may be followed by its words."""
    name = (match.group(1) + match.group(2)).lower()
    before = match.string[max(0, match.start() - _NAME_CHARS) : match.start()]
    is_quoted = before.rstrip(_LETTERS)[-1:] in ("'", '"', "`")
    if not match.group(4).endswith(" ") or name.endswith(_PHRASE_ENDS) or not (is_quoted or name.endswith(_TOKEN_ENDS)):
        return False
    behind = match.string[match.end() + len(value) :][:2]
    return value[:1] == "%" or (value.isalpha() and behind[:1] == " " and (is_quoted or behind[1:].islower()))


def _is_call_ended(text: str, begin: int, end: int) -> bool:
    """Return whether a value is in no quotes, and nothing is glued to the parenthesis that ends it."""
    return text[begin - 1 : begin] not in ("'", '"') and not text[end + 1 : end + 2].isalnum() and not text[end - 1 : end].isalnum()


def _is_set_elsewhere(value: str) -> bool:
    """Return whether the last word is a variable, or only says what kind of secret one is: `Bearer $TOKEN`."""
    schemes = _SCHEMES.split("|")
    scheme, _, behind = value.partition(" ")
    if scheme.lower() in schemes and behind:
        value = behind
    word = value.rpartition(" ")[2]
    is_from_variable = word[:1] == "$" and is_variable(word[1:2])
    return is_from_variable or word.lower() in schemes or value.lower().lstrip().startswith(_EXPRESSIONS)


def _named(lowered: str) -> bool:
    return any(word in lowered and _names_a_value(lowered, word) for word in _WORDS)


def _names_a_value(lowered: str, word: str) -> bool:
    """Return whether the word is part of a name that a value may follow: NAME=, NAME:, "NAME": or --name value."""
    start = lowered.find(word)
    while start >= 0:
        end = start + len(word)
        while end < len(lowered) and (lowered[end].isalnum() or lowered[end] in "_-]}\"'\\"):
            end += 1
        if lowered[end : end + 4].lstrip()[:1] in ("=", ":", ",", ">", "v", "s", "*"):
            return True
        before = lowered[max(0, start - _NAME_CHARS) : start].split(" ")
        if end < len(lowered) and ("-" in before[-1] or not _SETTERS.isdisjoint(before)):
            return True
        start = lowered.find(word, end)
    return False


def _has_value(text: str, match: Match[str]) -> bool:
    """Return whether what follows a name is its value. Behind a blank that is so for options, and for what is set by name."""
    name, rest, quote, between = match.groups()
    whole = (name + rest).lower()
    before = text[max(0, match.start() - 2 * _NAME_CHARS) : match.start()]
    following = text[match.end() : match.end() + 2]
    if whole.endswith(_HARMLESS_ENDS) or before.endswith(_PUBLIC) or (whole.endswith("tokens") and following[:1].isdigit()):
        return False
    value = text[match.end() : match.end() + 3].lstrip("\"'")
    if whole == "pwd" and (value[:1] in ("/", "~", ".") or value[1:2] == ":"):
        return False
    words = before.split(" ")
    if before[-8:].lower().endswith("existing"):
        return False
    if between.isspace():
        if quote or "=" in words[-1]:
            return False
        if following[:1] in ("-", "|", "&", ";", ">", "<", "") or following[1:] == ">":
            return False
        return words[-1].lstrip("\"'\n\t").startswith("-") or (len(words) > 1 and words[-2] in _SETTERS)
    if between == ">":
        return before.endswith("<")
    if between in (":-", ":="):
        return "${" in words[-1]
    if between[0] == ",":
        return bool(quote) and _is_first_argument(before)
    if ":" in between and ("${" in words[-1] and following[:1] == "?"):
        return False  # what is said where a variable is missing
    if ":" in between and (before.endswith("${") or (following[:1] == "." and following[1:].isalpha())):
        return False  # a part of a variable; a path of jq
    return "=" in between or bool(quote) or whole not in ("auth", "pass")


def _is_first_argument(before: str) -> bool:
    """Return whether the name behind these characters is quoted behind a parenthesis: `setenv("NAME", …)`."""
    call, quote, start = before.replace("'", '"').replace('\\"', '"').rpartition('"')
    return (
        bool(quote) and call.endswith("(") and start.replace("_", "").replace("-", "").replace(".", "").isalnum()
        if start
        else call.endswith("(")
    )
