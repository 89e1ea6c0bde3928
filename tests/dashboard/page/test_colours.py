"""Colours: text and figures stand out from what is behind them, in both schemes, and tiers stay apart for every kind of colour vision.

Colour vision deficiency is simulated with the matrices of Machado, Oliveira and Fernandes (2009) at full severity, distances are those of
OKLab, where 1 is from black to white.
"""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import pytest

COLOURS = Path(__file__).resolve().parents[3] / "power-mode" / "popkit_retention" / "dashboard" / "page" / "styles" / "colours.css"
SCHEMES = ("light", "dark")
TEXT, GRAPHICS = 4.5, 3.0  # WCAG 2.2, AA
APART = 0.1
TIERS = ("ephemeral", "short", "medium", "session", "preserved")
SIGHTS = {
    "as most see": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
_TO_LMS = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
_TO_LAB = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)

Colour = tuple[float, float, float]


def palette(scheme: str) -> dict[str, Colour]:
    """name -> linear red, green and blue."""
    colours = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", COLOURS.read_text())
    return {name: linear(light if scheme == "light" else dark) for name, light, dark in colours}


def linear(hex: str) -> Colour:
    parts = [int(hex[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return red, green, blue


def times(matrix: tuple[tuple[float, ...], ...], colour: Colour) -> Colour:
    red, green, blue = (sum(factor * part for factor, part in zip(row, colour)) for row in matrix)
    return red, green, blue


def contrast(one: Colour, other: Colour) -> float:
    dark, light = sorted(0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in (one, other))
    return (light + 0.05) / (dark + 0.05)


def seen(colour: Colour, sight: str) -> Colour:
    """As OKLab, by somebody with this sight."""
    red, green, blue = (min(1.0, max(0.0, part)) for part in times(SIGHTS[sight], colour))
    roots = [part ** (1 / 3) for part in times(_TO_LMS, (red, green, blue))]
    return times(_TO_LAB, (roots[0], roots[1], roots[2]))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_stands_out_from_what_it_is_written_on(scheme: str) -> None:
    known = palette(scheme)
    pairs = [(ink, ground) for ink in ("ink", "ink-soft") for ground in ("ground", "card", "raised")]
    pairs += [("accent", ground) for ground in ("ground", "card", "raised", "accent-soft")]
    pairs += [("ink", "accent-soft"), ("ink-soft", "accent-soft"), ("on-accent", "accent"), ("on-accent", "bad-strong")]
    pairs += [(name, ground) for name in ("good", "warn", "bad") for ground in ("card", "raised", "ground", name + "-soft")]
    weak = {(ink, ground): contrast(known[ink], known[ground]) for ink, ground in pairs}
    assert {pair: ratio for pair, ratio in weak.items() if ratio < TEXT} == {}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_is_drawn_stands_out_from_its_card(scheme: str) -> None:
    known = palette(scheme)
    drawn = [*(f"tier-{tier}" for tier in TIERS), *(f"layer-tier{number}" for number in (1, 2, 3, 4)), "expired", "edge-strong", "accent",
             "warn", "bad-strong"]  # fmt: skip
    weak = {name: contrast(known[name], known["card"]) for name in drawn}
    assert {name: ratio for name, ratio in weak.items() if ratio < GRAPHICS} == {}


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_tiers_and_what_has_expired_are_told_apart(scheme: str, sight: str) -> None:
    known = palette(scheme)
    names = [*(f"tier-{tier}" for tier in TIERS), "expired"]
    near = {
        (one, other): round(math.dist(seen(known[one], sight), seen(known[other], sight)), 3)
        for one, other in itertools.combinations(names, 2)
    }
    assert {pair: distance for pair, distance in near.items() if distance < APART} == {}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_layers_are_told_apart_by_how_dark_they_are(scheme: str) -> None:
    known = palette(scheme)
    ramp = [known[f"layer-tier{number}"] for number in (1, 2, 3, 4)]
    assert all(contrast(one, other) >= 1.35 for one, other in zip(ramp, ramp[1:]))


def test_the_check_sees_what_the_colour_blind_do_not() -> None:
    """Red and green of equal brightness: apart for most, nearly one for deuteranopia."""
    red, green = linear("#c04040"), linear("#6f7b00")
    assert math.dist(seen(red, "as most see"), seen(green, "as most see")) > APART
    assert math.dist(seen(red, "deuteranopia"), seen(green, "deuteranopia")) < APART
