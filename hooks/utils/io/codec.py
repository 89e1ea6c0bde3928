"""JSON through the C scanner and encoder alone.

`import json` costs a hook more than everything else it does, because it pulls in `re` and `enum`; the C parts behind it cost
nothing. They are private to CPython, so they are used here only, with `json` itself as the fallback.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

_SPACE = " \t\n\r"
_LATEST_S = 1e11  # in 3,000 years
_TOO_DEEP, _TOO_LONG = "nested too deeply", "a number has too many digits"

try:
    from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner
except ImportError:  # another Python than CPython
    import json

    def loads(text: str) -> object:
        """Return the value of a JSON document; ValueError when it is none (NaN and Infinity are read as null)."""
        try:
            return json.loads(text, parse_constant=_no_number)
        except RecursionError:
            raise ValueError(_TOO_DEEP) from None
        except ValueError as error:
            raise _in_our_words(error) from None

    def _text_of(value: object, ascii_only: bool) -> str:
        return json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=ascii_only)

else:

    class _Context:
        """The attributes that the C scanner reads of a decoder."""

        strict = False
        object_hook = object_pairs_hook = None
        parse_float = float
        parse_int = int

        @staticmethod
        def parse_constant(name: str) -> None:
            return _no_number(name)

    _scan = make_scanner(_Context)  # type: ignore[arg-type]  # it asks for nothing that a _Context lacks

    def _refuse(value: object) -> NoReturn:
        raise ValueError("no JSON form for " + type(value).__name__)

    _encoders = [
        make_encoder(None, _refuse, encode, None, ":", ",", False, False, False) for encode in (encode_basestring, encode_basestring_ascii)
    ]

    def _text_of(value: object, ascii_only: bool) -> str:
        return "".join(_encoders[ascii_only](value, 0))

    def loads(text: str) -> object:
        """Return the value of a JSON document; ValueError when it is none (NaN and Infinity are read as null)."""
        start = len(text) - len(text.lstrip(_SPACE))
        try:
            value, end = _scan(text, start)
        except (StopIteration, SystemError):
            # 3.10 and 3.11 look for json's own exception among the loaded modules, and fail so where `json` is not.
            raise ValueError("not a JSON document") from None
        except RecursionError:
            raise ValueError(_TOO_DEEP) from None
        except ValueError as error:
            raise _in_our_words(error) from None
        if text[end:].strip(_SPACE):
            raise ValueError("text after the JSON document")
        return value


def dumps(value: object) -> str:
    """Return compact JSON that `loads` reads as the same value; ASCII, unless a text has two halves of a surrogate pair side by side:
    escaped they would be read as one character. ValueError for NaN, Infinity or what JSON has no form for."""
    try:
        text = _text_of(value, True)
        if "\\ud" in text and loads(text) != value:
            text = _text_of(value, False)
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    return text


def whole(value: object, below: float) -> int | None:
    """Return a value of a document if it is a whole number from 0 on and below a bound; else None, also for true and false."""
    return value if type(value) is int and 0 <= value < below else None


def number(value: object, below: float) -> float | None:
    """Return the same for any number; None for NaN."""
    return value if isinstance(value, (int, float)) and type(value) is not bool and 0 <= value < below else None


def seconds(value: object) -> float | None:
    """Return a time of a document, in seconds since the epoch; None for what is none."""
    return number(value, _LATEST_S)


def text_list(value: object) -> list[str] | None:
    """Return the texts in a list of a document, without anything else in it; None for any other value."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else None


def texts(value: object) -> list[str]:
    """Return the texts in a list of a document, without anything else in it; [] for any other value."""
    return text_list(value) or []


def as_text(value: object) -> str:
    """Return a text of a document; "" for any other value."""
    return value if isinstance(value, str) else ""


def as_object(value: object) -> dict[str, Any]:
    """Return an object of a document; {} for any other value."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return a list of a document; [] for any other value."""
    return value if isinstance(value, list) else []


def as_objects(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list of a document, without anything else in it; [] for any other value."""
    return [item for item in as_list(value) if isinstance(item, dict)]


def _in_our_words(error: ValueError) -> ValueError:
    """Return JSON's own error as it is (it is of a class of its own), and Python's limit on the digits of a whole number in our words."""
    return ValueError(_TOO_LONG) if type(error) is ValueError else error


def _no_number(_name: str) -> None:
    """Read NaN and Infinity, which JSON does not have, as null: a host that writes one means "no number"."""
    return


def text_in_field(record: Mapping[str, object], name: str) -> str:
    """Return a text field of a record; "" for anything else."""
    value = record.get(name)
    return value if isinstance(value, str) else ""
