"""Tokens are exact where the model's vocabulary is public, estimated elsewhere, and each count says which."""

from __future__ import annotations

import base64
import os
import statistics
import struct
import subprocess
import sys
import time
from importlib.util import find_spec
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.context import tokens
from popkit_retention.context.content_kinds import kind_of
from popkit_retention.context.meter import Meter
from popkit_retention.context.pictures import size_of
from popkit_retention.context.provider_forms import Provider
from popkit_retention.context.tokens import Count, count, count_tokens, vocabulary_of
from popkit_retention.core.policy.estimate import IMAGE_TOKENS, image_tokens
from tests.examples import examples
from tests.paths import ROOT
from tests.patience import HANG_S

pytestmark = pytest.mark.skipif(find_spec("bpe_openai") is None, reason="bpe-openai is not installed")


class SdkCall:
    """A call as a client's package hands it out."""

    def __init__(self, call: dict) -> None:
        self._call = call

    def model_dump(self, **_options: object) -> dict:
        return self._call


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 750, 1_000)
JPEG = b"\xff\xd8\xff\xe0\0\x10JFIF" + bytes(10) + b"\xff\xc0\0\x11\x08" + struct.pack(">HH", 1_000, 750)
WEBP = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0" + bytes(4) + (749).to_bytes(3, "little") + (999).to_bytes(3, "little")


def test_a_text_for_a_model_of_openai_is_counted_exactly():
    assert count("tokens are counted, not guessed", "gpt-4o") == Count(6, exact=True)
    assert count_tokens("", "gpt-4o") == 0


def test_a_text_for_a_model_of_anthropic_is_an_estimate_that_says_so():
    assert count("tokens are counted, not guessed", "claude-opus-5-5").exact is False
    assert count("tokens are counted, not guessed").exact is False


@pytest.mark.parametrize(
    ("model", "vocabulary"),
    [
        ("gpt-5.1-codex", "o200k_base"), ("azure/gpt-4o-mini", "o200k_base"), ("ft:gpt-4o:team:name", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("gpt-4-turbo", "cl100k_base"), ("gpt-35-turbo", "cl100k_base"), ("claude-opus-5-5", ""), ("mistral-large", ""), ("", ""),
    ],
)  # fmt: skip
def test_the_vocabulary_goes_by_the_models_id(model, vocabulary):
    assert vocabulary_of(model) == vocabulary


def test_special_tokens_in_a_text_are_text():
    assert count("<|endoftext|>", "gpt-4o").tokens > 1


def test_a_lone_surrogate_is_counted():
    assert count("a\ud800b", "gpt-4o").exact
    assert count("a\ud800b" * 100).tokens > 0


def test_a_text_longer_than_the_counters_package_takes_is_counted_as_one():
    from bpe_openai import get_encoding

    text = "".join(f'{{"name":"value {at}","it\'s":[{at},null]}}' for at in range(9_000))
    assert len(text) > 200_000
    encoding = get_encoding("o200k_base")
    whole = len(encoding.encode_ordinary(text))
    assert count(text, "gpt-4o") == Count(whole, exact=True)


@settings(max_examples=examples(60, 600))
@given(st.text(max_size=300), st.sampled_from(["", "gpt-4o", "gpt-4", "claude-opus-5-5"]))
def test_any_text_has_a_count_of_tokens_that_repeats(text, model):
    tokens = count(text, model)
    assert (tokens.tokens == 0) == (text == "")
    assert count(text, model) == tokens


@settings(max_examples=examples(60, 600), deadline=None)
@given(st.text(max_size=300), st.sampled_from([("gpt-4o", "o200k_base"), ("gpt-4", "cl100k_base")]))
def test_a_count_is_that_of_the_counters_package(text, model):
    from bpe_openai import get_encoding

    assert count_tokens(text, model[0]) == len(get_encoding(model[1]).encode_ordinary(text))


class WithoutCount:
    """A tokenizer of the compiled part that has another method for what `count` does."""

    def __init__(self, name: str) -> None:
        self._tokenizer = tokens._bindings().tokenizer_for_encoding(name)

    def __getattr__(self, name: str) -> object:
        if name == "count":
            raise AttributeError(name)
        return getattr(self._tokenizer, name)


def test_a_package_whose_compiled_part_has_another_form_counts_all_the_same(monkeypatch):
    import bpe_openai

    text = "tokens are counted, not guessed. " * 3_000
    exact = len(bpe_openai.get_encoding("o200k_base").encode_ordinary(text))
    tokenizer, other = WithoutCount("o200k_base"), ModuleType("bpe_openai._bindings")
    other.tokenizer_for_encoding = lambda _name: tokenizer
    monkeypatch.setitem(sys.modules, "bpe_openai._bindings", other)
    assert 0 <= tokens._loaded("o200k_base")(text) - exact <= 1


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("diff --git a/a.py b/a.py\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n", "diff"),
        ("src/a.py:12:    return 1\nsrc/b.py:7:    return 2\n", "matches"),
        ("     1→def add(a, b):\n     2→    return a + b\n     3→\n     4→class A:\n", "code"),
        ("const a = (b) => {\n  return b;\n};\nexport { a };\n", "code"),
        ('{\n  "name": "shop",\n  "version": "1.0"\n}\n', "markup"),
        ('{"name": "shop", "version": 1}', "markup"),
        ("# Title\n\n- one\n- two\n\n| a | b |\n|---|---|\n", "markup"),
        ("2026-01-02 10:00:00 started\n2026-01-02 10:00:01 done\n", "log"),
        ("src/app/a.py\nsrc/app/b.py\nsrc/app/c.py\n", "log"),
        ("I looked at the file. It seems that the price is wrong there, so let me change it.", "dialogue"),
        ("", "dialogue"),
    ],
)
def test_the_kind_of_content_is_guessed_from_its_lines(text, kind):
    assert kind_of(text) == kind


@pytest.mark.parametrize("head", [PNG, JPEG, WEBP, b"GIF89a" + struct.pack("<HH", 750, 1_000)])
def test_a_picture_tells_its_size(head):
    assert size_of(head) == (750, 1_000)


@settings(max_examples=examples(60, 600))
@given(st.sampled_from([PNG, JPEG, WEBP, b"RIFF\0\0\0\0WEBPVP8L", b"RIFF\0\0\0\0WEBPVP8 "]), st.integers(0, 40), st.binary(max_size=40))
def test_no_broken_picture_breaks_the_count(head, end, rest):
    width, height = size_of(head[:end] + rest)
    assert width >= 0
    assert height >= 0


def picture(data: bytes) -> dict:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(data).decode()}}


def test_a_picture_counts_by_its_size_where_that_is_known():
    meter = Meter("gpt-4o")
    known = meter.message({"role": "user", "content": [picture(PNG)]})
    unknown = meter.message({"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}]})
    assert unknown - known == IMAGE_TOKENS - image_tokens(750, 1_000)
    assert not meter.exact


def test_a_picture_for_openai_counts_by_its_tiles():
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()

    def tokens(image: object) -> int:
        return meter.message({"role": "user", "content": [{"type": "image_url", "image_url": image}]})

    meter = Meter("gpt-4o", Provider.OPENAI)
    nothing = meter.message({"role": "user", "content": []})
    assert tokens({"url": url, "detail": "low"}) - nothing == 85
    assert tokens({"url": url}) - nothing == 85 + 170 * 4  # 750 x 1,000: two tiles by two
    assert tokens("https://example.org/a.png") - nothing == IMAGE_TOKENS


def test_thinking_counts_by_what_its_signature_seals():
    block = {"type": "thinking", "thinking": "", "signature": "x" * (235 + 4 * 2_700)}
    bare = Meter().message({"role": "assistant", "content": []})
    assert Meter().message({"role": "assistant", "content": [block]}) - bare == 3_000


def test_calls_and_results_count_with_all_that_they_hold():
    text = "a line of the file\n" * 50
    call = {"type": "tool_use", "id": "a", "name": "Write", "input": {"content": text}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": text}, picture(PNG)]}
    plain = count_tokens(text)
    assert Meter().message({"role": "assistant", "content": [call]}) > plain
    assert Meter().message({"role": "user", "content": [result]}) >= plain + image_tokens(750, 1_000)


@pytest.mark.parametrize(("kind", "field"), [("function", "arguments"), ("custom", "input")])
def test_calls_of_openai_count_their_arguments(kind, field):
    given = '{"path": "' + "src/app/" * 100 + '"}'
    call = {"id": "a", "type": kind, kind: {"name": "read", field: given}}
    meter = Meter("gpt-4o", Provider.OPENAI)
    tokens = meter.message({"role": "assistant", "content": None, "tool_calls": [call]})
    assert tokens > count_tokens(given, "gpt-4o")
    assert meter.exact
    assert meter.message({"role": "assistant", "content": None, "tool_calls": [SdkCall(call)]}) == tokens


@pytest.mark.parametrize(
    "content",
    [None, "", [], [None, 3, {}], [{"type": "new"}], [{"type": "image"}], [{"type": "document"}], [{"type": "tool_result"}], {"a": 1}, 7],
)
@pytest.mark.parametrize("provider", [Provider.ANTHROPIC, Provider.OPENAI])
def test_a_malformed_message_is_counted_without_an_error(content, provider):
    assert Meter("gpt-4o", provider).message({"role": "user", "content": content, "tool_calls": [None, {"function": 3}]}) > 0


def test_system_and_tools_count_too():
    system = [{"type": "text", "text": "You are an agent. " * 20, "cache_control": {"type": "ephemeral"}}]
    meter = Meter("gpt-4o")
    assert meter.parts(system) == meter.parts("You are an agent. " * 20)
    assert meter.parts([{"name": "Read", "description": "reads", "input_schema": {"type": "object"}}]) > 10
    assert meter.parts(None) == 0
    assert meter.exact


@pytest.mark.bench
@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4", "claude-opus-5-5"])
def test_200_kb_are_counted_within_50_ms(model):
    count_tokens("loads the vocabulary", model)
    taken = []
    for at in range(9):
        text = (f"{at}: the price of a basket is what its items cost, {{'items': [1, 2]}};\n" * 4_000)[:200_000]
        began = time.perf_counter()
        count_tokens(text, model)
        taken.append(time.perf_counter() - began)
    assert statistics.median(taken) < 0.05


def test_a_counter_that_is_loaded_ahead_counts_the_same_in_every_thread():
    """Only one of several threads loads it, and no count is an estimate while it does."""
    code = """
from concurrent.futures import ThreadPoolExecutor
from popkit_retention.context import tokens
thread = tokens.load_ahead("gpt-5")
with ThreadPoolExecutor(4) as pool:
    counts = set(pool.map(lambda _: tokens.count("tokens are counted, not guessed", "gpt-5"), range(8)))
thread.join()
print(counts, tokens.load_ahead("claude-opus-5-5").join())
"""
    env = {"PATH": os.defpath, "PYTHONPATH": str(ROOT / "power-mode")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert (done.stdout, done.stderr) == ("{Count(tokens=6, exact=True)} None\n", "")


def test_counting_builds_no_vocabulary_and_leaves_the_counters_package():
    code = """
import sys
from popkit_retention.context import tokens
counted = tokens.count("tokens are counted, not guessed", "gpt-5")
before = "bpe_openai" in sys.modules
import bpe_openai
print(before, counted.tokens == len(bpe_openai.get_encoding("o200k_base").encode("tokens are counted, not guessed")))
"""
    env = {"PATH": os.defpath, "PYTHONPATH": str(ROOT / "power-mode")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert (done.stdout, done.stderr) == ("False True\n", "")
