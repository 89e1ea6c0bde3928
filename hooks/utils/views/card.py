"""A card that shows PopKit's savings since its installation. Data in, a file's text out. Pure."""

from __future__ import annotations

from .. import text, units
from ..policy import figures
from . import amounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..policy.shapes import Figures, LedgerFigures

SVG, MARKDOWN = ".svg", ".md"
MARK = "PopKit card"  # in every card: only a file that has it is replaced
_METHOD = "Counted request by request against the same session without PopKit, at the API's prices; its own cost is subtracted."
_WIDTH, _LEFT, _LINE = 560, 28, 24
_FONT = "ui-sans-serif, system-ui, sans-serif"


def _card_rows(ledger: LedgerFigures) -> list[tuple[str, str]]:
    """Return the quantities as (name, words)."""
    if not ledger:
        return []
    return [
        ("Kept out of the context", f"{amounts.kept_out(ledger)} tokens"),
        ("Cleared from it", f"{amounts.tokens(ledger['cleared_tokens'])} tokens"),
        ("What PopKit cost", "unknown" if ledger["cost_usd"] is None else amounts.usd(ledger["cost_usd"])),
    ]


def card(kind: str, ledger: LedgerFigures, worth: Mapping[str, Figures], sessions: int, day: str, dated: str) -> str:
    """Return a card of this kind, SVG or MARKDOWN. `ledger`: the figures since PopKit was installed, `worth`: by period · `day`: today's,
    such as 2026-10-01 · `dated`: the month of the prices. Negative amounts are shown, too."""
    installed = worth["installed"]
    is_known = installed["net_usd"] is not None
    net = f"Net {amounts.usd(installed['net_usd'], True)}" if is_known else "Net unknown"
    net = net if figures.is_anything(installed) else "Nothing saved and nothing cost yet"
    head = f"{units.counted(sessions, 'session')} since PopKit was installed, as of {day}"
    method = _METHOD + (f" Prices of {dated}." if dated else "")
    if installed["unpriced"]:
        method += " Requests to a model without a known price are not in the money."
    return (_svg if kind == SVG else _markdown)(head, net, _card_rows(ledger), method)


def _markdown(head: str, net: str, rows: list[tuple[str, str]], method: str) -> str:
    lines = [f"<!-- {MARK} -->", f"**PopKit: {net[0].lower() + net[1:]}** ({head})", ""]
    if rows:
        lines += ["| | |", "|---|--:|", *(f"| {name} | {words} |" for name, words in rows), ""]
    return "\n".join([*lines, method, ""])


def _svg(head: str, net: str, rows: list[tuple[str, str]], method: str) -> str:
    from html import escape

    body = [_svg_text(_LEFT, 40, 15, "#5b6472", escape(f"PopKit · {head}")), _svg_text(_LEFT, 86, 34, "#16202c", escape(net), 700)]
    at = 124
    for name, words in rows:
        body.append(_svg_text(_LEFT, at, 15, "#5b6472", escape(name)))
        body.append(_svg_text(_WIDTH - _LEFT, at, 15, "#16202c", escape(words), anchor="end"))
        at += _LINE
    at += 8
    for line in text.wrapped(method, 88):
        body.append(_svg_text(_LEFT, at, 11, "#7b8494", escape(line)))
        at += 16
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{at}" viewBox="0 0 {_WIDTH} {at}" role="img">',
            f"<title>{MARK}: {escape(net)}, {escape(head)}</title>",
            f'<rect x="0.5" y="0.5" width="{_WIDTH - 1}" height="{at - 1}" rx="10" fill="#ffffff" stroke="#d6dbe3"/>',
            *body,
            "</svg>",
            "",
        ]
    )


def _svg_text(x: int, y: int, size: int, color: str, words: str, weight: int = 400, anchor: str = "start") -> str:
    style = f'font-family="{_FONT}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" fill="{color}"'
    return f'<text x="{x}" y="{y}" {style}>{words}</text>'


def written_lines(path: str) -> list[text.Line]:
    """Return the lines that say where a card was written."""
    return ["", *text.wrap(f"The card is in {text.clean(path)}.")]
