"""Numbers as a person says them. Pure."""

from __future__ import annotations


def tokens(number: float) -> str:
    """Return an estimate in a table: ~820, ~1.2k, ~15k, ~1.3M; 0 is 0."""
    number = round(number)
    if number < 1:
        return "0"
    if number < 1_000:
        return f"~{number}"
    for size, unit in ((1_000, "k"), (1_000_000, "M"), (1_000_000_000, "G")):
        scaled = number / size
        if scaled < 9.95:
            return f"~{scaled:.1f}{unit}"
        if scaled < 999.5:
            return f"~{scaled:.0f}{unit}"
    return "~" + str(number)


def short_tokens(number: float) -> str:
    """Return an estimate in a short sentence: ~15k tokens."""
    return tokens(number) + (" token" if round(number) == 1 else " tokens")


def long_tokens(number: float) -> str:
    """Return an estimate in a sentence, to three figures: ~15,200 tokens."""
    words = estimate(number)
    return f"{words} token{'' if words == '~1' else 's'}"


def estimate(number: float) -> str:
    """Return an estimate to three figures: ~15,200."""
    number = round(number)
    digits = len(str(abs(number)))
    return f"~{round(number, 3 - digits) if digits > 3 else number:,}"


def counted(number: int, noun: str) -> str:
    if number == 1:
        return "1 " + noun
    return f"{number:,} {noun}" + ("es" if noun.endswith(("ch", "sh", "s")) else "s")


def span(seconds: float) -> str:
    """Return a stretch of time: 45 s, 12 min, 3 h, 2 days."""
    seconds = max(0, round(seconds))
    if seconds < 120:
        return f"{seconds} s"
    if seconds < 7_200:
        return f"{seconds // 60} min"
    return f"{seconds // 3_600} h" if seconds < 172_800 else f"{seconds // 86_400} days"


def countdown(seconds: float) -> str:
    """Return a time to wait, as a person says it: 45 s, 4 min 30 s, 12 min, 1 h 5 min."""
    seconds = max(0, round(seconds))
    minutes, rest = divmod(seconds, 60)
    if minutes < 1:
        return f"{seconds} s"
    if minutes < 10:
        return f"{minutes} min" + (f" {rest} s" if rest else "")
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h" + (f" {minutes} min" if minutes else "") if hours else f"{minutes} min"


def size(count: int) -> str:
    """Return bytes as a person says them: 820 bytes, 1.2 kB, 15 kB, 1.3 MB."""
    if count < 1_000:
        return counted(count, "byte")
    scaled, unit = next(((count / each, unit) for each, unit in ((1e3, "kB"), (1e6, "MB")) if count < 999.5 * each), (count / 1e9, "GB"))
    return f"{scaled:.1f} {unit}" if scaled < 9.95 else f"{scaled:.0f} {unit}"


def percent(ratio: float) -> str:
    """Return a share in whole percent; more than nothing is never 0%, less than all never 100%."""
    words = f"{ratio:.0%}"
    return "<1%" if words == "0%" and ratio else "99%" if words == "100%" and ratio < 1 else words


def chance(share: float) -> str:
    """Return a chance (0 to 1) as a person says it: 13%, less than 1%."""
    return f"{share:.0%}" if share >= 0.01 else "less than 1%"
