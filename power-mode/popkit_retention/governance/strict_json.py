"""JSON that may be corrupt, read strictly: bounded size, no key twice, only the numbers of JSON."""

from __future__ import annotations

import json
import math
from typing import NoReturn

LARGEST_BYTES = 32 << 20
# Longer numbers take long to read and mean nothing.
_MOST_DIGITS = 20


def json_of(data: bytes, most_bytes: int = LARGEST_BYTES) -> object:
    """Return the parsed value; ValueError, which says what is wrong, for anything that is not plain JSON."""
    if len(data) > most_bytes:
        raise ValueError(f"is larger than {most_bytes:,} bytes")
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_number, parse_int=_whole, parse_float=_finite)
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON (line {error.lineno}: {error.msg})") from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"has the key {twice!r:.40} twice")
    return fields


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"holds {word}, which is not a number")


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError("holds a number that is too long")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("holds a number that is too large")
    return number
