"""Secrets out of everything that is kept of a command line or a result's first line."""

from __future__ import annotations

MASK = "****"

# Prefixes of tokens of known services: a text that holds one is looked at closely.
_PREFIXES = (
    "sk-", "ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "xox", "akia", "asia", "aiza", "eyj", "npm_", "pypi-", "hf_", "-----begin",
    "bearer ", "basic ", "cookie:", "://", " -u",
)  # fmt: skip
# Words in the name of a secret: they matter when a value follows the name.
_WORDS = ("token", "secret", "passw", "passwd", "pwd", "key", "auth", "credential")

# Names whose value is a secret: NAME=value, NAME: value, --name value.
_NAME = r"[\w-]*(?:token|secret|passw(?:or)?d|passwd|pwd|api[_-]?key|access[_-]?key|private[_-]?key|auth(?:orization)?|credential)s?[\w-]*"
_VALUE = r"""(?:"[^"\n]*"|'[^'\n]*'|[^\s"'&;|)]+)"""
_FORMS = (
    (r"(?i)(\bauthorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+)[^\s\"']+", r"\1" + MASK),
    (r"(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}", r"\1" + MASK),
    (r"(?i)(\b(?:x-api-key|api-key|cookie|set-cookie)\s*:\s*)[^\"'\n]+", r"\1" + MASK),
    (r"(?i)(--?" + _NAME + r"(?:=|\s+))(?!-)" + _VALUE, r"\1" + MASK),
    (r"(?i)(\b" + _NAME + r"[\"']?\s*[=:]\s*)(?!\s)" + _VALUE, r"\1" + MASK),
    (r"([a-zA-Z][\w+.-]*://[^\s/:@\"']*):[^\s/@\"']+@", r"\1:" + MASK + "@"),
    (r"(\s-u\s+[\"']?[^\s:\"']+):[^\s\"']+", r"\1:" + MASK),
    (r"\b(?:sk-[\w-]{8,}|gh[opsu]_\w{8,}|github_pat_\w{8,}|glpat-[\w-]{8,}|xox[abprs]-[\w-]{8,}|npm_\w{8,}|pypi-[\w-]{8,}|hf_\w{8,}"
     r"|A[KS]IA[A-Z0-9]{12,}|AIza[\w-]{20,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)", MASK),
    (r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", MASK),
)  # fmt: skip


def _names_a_value(lowered: str, word: str) -> bool:
    """Whether the word is part of a name that a value follows: NAME=, NAME:, "NAME": or --name value."""
    start = lowered.find(word)
    while start >= 0:
        end = start + len(word)
        while end < len(lowered) and (lowered[end].isalnum() or lowered[end] in "_-\"'"):
            end += 1
        rest = lowered[end : end + 2].lstrip(" ")
        if rest[:1] in ("=", ":"):
            return True
        if rest and "-" in lowered[max(0, start - 24) : start].rpartition(" ")[2]:
            return True
        start = lowered.find(word, end)
    return False


def _may_hold_a_secret(lowered: str) -> bool:
    for prefix in _PREFIXES:
        if prefix in lowered:
            return True
    for word in _WORDS:
        if word in lowered and _names_a_value(lowered, word):
            return True
    return False


def mask(text: str) -> str:
    """The text with every secret of a known form replaced by ****; masking twice changes nothing more."""
    if not _may_hold_a_secret(text.lower()):
        return text
    import re  # costs a hook 9 ms: only for texts that may hold a secret

    for form, masked in _FORMS:
        text = re.sub(form, masked, text)
    return text
