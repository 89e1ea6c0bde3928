"""Memories in archives."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from popkit_retention.conformance.checking import full
from popkit_retention.governance import DomainUnavailable
from popkit_retention.governance.domains import Content
from popkit_retention.memory import exchange
from tests.governance.governed_memory import OLD, Governed
from tests.memory.remembering import DAY, HOUR, NOW, lesson, wrote


def test_archived_content_returns_byte_for_byte_and_counts_as_wanted_from_then_on(governed: Governed) -> None:
    governed.store.add([replace(full("m1"), held=False, key=False, marked_at=None, marked_by=""), full("m2")])
    governed.store.keep_original("m1", "the whole text\r\n\u2028 é \U0001f993 \ud800")
    governed.old("m3", text="bare", kind="own", details={"a": ["é", None, {"b": 1.5}]})
    ids = ["m3", "m1", "m2"]
    before = list(governed.domain.contents(["none", *ids]))
    assert [content.id for content in before] == ids
    items = governed.store.get(ids)
    governed.store.remove(ids)
    governed.now += DAY
    assert governed.domain.put_back(before, governed.now) == ids
    assert governed.domain.put_back(before, governed.now) == []
    assert list(governed.domain.contents(ids)) == [replace(each, about={**each.about, "last_accessed": governed.now}) for each in before]
    for item, again in zip(items, governed.store.get(ids)):
        assert again == replace(item, last_accessed=governed.now, marked_at=None, marked_by="")
    assert governed.resource("m3").created_at == governed.now
    assert governed.store.original("m1") == "the whole text\r\n\u2028 é \U0001f993 \ud800"
    assert governed.store.verify() == []


def test_what_is_there_stays_as_it_is(governed: Governed) -> None:
    governed.old("m1", text="as it was")
    (content,) = governed.domain.contents(["m1"])
    governed.memory.pin(["m1"])
    assert governed.domain.put_back([content, content], NOW) == []
    assert governed.item("m1").held


def test_what_comes_back_from_an_archive_may_be_learnt_again(governed: Governed) -> None:
    governed.memory.learn(lesson("s1", wrote("src/cart.py")))
    (item,) = governed.store.scan()
    archived = list(governed.domain.contents([item.id]))
    governed.memory.forget([item.id])
    governed.after(25 * HOUR).run()
    assert governed.domain.put_back(archived, governed.now) == [item.id]
    governed.memory.learn(lesson("s2", wrote("src/cart.py")))
    assert governed.item(item.id).sessions == 2
    assert set(governed.resource(item.id).sessions) == {"s1", "s2"}


def test_a_line_of_an_archive_is_one_of_an_export(governed: Governed) -> None:
    governed.old("m1")
    (content,) = governed.domain.contents(["m1"])
    exported = json.loads(list(exchange.lines_of(governed.store, None, NOW))[1])
    renewed = {name: exported.pop(name) for name in ("last_accessed", "marked_at", "marked_by")}
    assert (json.loads(content.data), renewed["last_accessed"]) == (exported, OLD)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b'{"id": "other", "text": "x"}', b'{"id": "m1", "text": 5}', b"[" * 99_999])
def test_what_is_no_item_is_refused_and_nothing_comes_back(governed: Governed, data: bytes) -> None:
    governed.old("m2")
    good = list(governed.domain.contents(["m2"]))
    governed.store.remove(["m2"])
    with pytest.raises(DomainUnavailable, match="memory: 'm1'"):
        governed.domain.put_back([*good, Content("m1", data)], NOW)
    assert list(governed.store.scan()) == []
