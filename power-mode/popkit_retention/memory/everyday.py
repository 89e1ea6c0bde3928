"""English words that everybody uses all the time: that one of them is rare in a few texts says nothing. Their terms. Pure."""

from __future__ import annotations

from .terms import stem

EVERYDAY = frozenset(
    stem(word)
    for word in """
    able actually add ago almost already always another any anyone anything anyway area around ask away back bad become begin behind
    better big bit body bring call came care case certain chance change come close could couple course day deal different easy either else
    end enough even ever every everybody everyone everything fact far few figure find fine first follow forward full gave get give given
    go gonna good got great group grow guess guy half hand happen hard have head hear help here high hold home hour house however idea
    instead issue join keep kind know large last lately later learn least leave left less let life like likely line list little live long
    look lot main make many matter may maybe mean might mind minute moment month most move much must name near need never new next nobody
    none nothing number often old one open order others part past people perhaps person piece place plan play please point possible pretty
    probably problem put question quite rather read ready real really reason recent recently rest right run said same saw say second see
    seem send set several show side simple since small some somebody someone something sometimes soon sort start state stay step still
    stop story stuff such sure take talk tell thing think third though thought through time today together tomorrow tonight too took top
    totally town toward tried try turn two understand use usual usually various wait walk wanna want watch way week weekend well went
    whatever whether whole win without wonder word work world would write wrong year yesterday yet
    """.split()
)
