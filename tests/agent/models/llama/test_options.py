"""How a model is run, as it is written after its file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.config import Settings
from housequest.agent.models.llama import LlamaOptions, LlamaProvider, chosen_runtime, load_template
from housequest.agent.models.registry import computes, parse_model, portable_name, with_options
from housequest.agent.processes import processors
from housequest.agent.setup import set_up
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.registry import make_world
from tests.agent.models.tiny import write_tiny
from tests.irregular import check_irregular

FILES = st.none() | st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20)
OPTIONS = st.builds(
    LlamaOptions,
    context=st.none() | st.integers(1, 1 << 24),
    slots=st.integers(1, 256),
    threads=st.none() | st.integers(1, 1_024),
    gpu_layers=st.integers(-1, 10_000),
    batch=st.integers(1, 1 << 16),
    cache=st.booleans(),
    exact=st.booleans(),
    template=FILES,
    lora=FILES,
    cache_type=st.sampled_from(["f16", "f32"]),
    flash=st.sampled_from(["auto", "on", "off"]),
    runtime=st.sampled_from(["auto", "xllamacpp", "llama-cpp-python"]),
)


@given(OPTIONS)
def test_what_is_written_is_read(options: LlamaOptions) -> None:
    named = LlamaProvider(with_options("/a folder/model.gguf", options))
    assert (named.file, named.options) == ("/a folder/model.gguf", options)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("slot=2", "Did you mean 'slots'"),
        ("slots=0", "must be at least 1, not"),
        ("slots=many", "a whole number"),
        ("slots=2&slots=3", "given twice"),
        ("gpu_layers=-2", "must be at least -1, not"),
        ("cache=maybe", "on or off"),
        ("flash=maybe", "one of auto, on, off"),
        ("runtime=vllm", "one of auto, llama-cpp-python, xllamacpp"),
        ("lora=", "says nothing"),
    ],
)
def test_what_cannot_be_is_named(query: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        parse_model(f"llama:model.gguf?{query}")


def test_a_name_without_its_place() -> None:
    parsed = parse_model("llama:~/models/a b.gguf?slots=8&lora=/somewhere/own.gguf")
    named = LlamaProvider(parsed.rest)
    assert (named.file, named.options) == ("~/models/a b.gguf", LlamaOptions(slots=8, lora="/somewhere/own.gguf"))
    assert str(parsed) == "llama:~/models/a b.gguf?slots=8&lora=/somewhere/own.gguf"
    settled = LlamaOptions(slots=8, lora="own.gguf", runtime=chosen_runtime(named.options))
    again = LlamaProvider(parse_model(portable_name(str(parsed))).rest)
    assert (again.file, again.options) == ("a b.gguf", settled)
    assert portable_name(str(parsed)).startswith("llama:a b.gguf?")
    assert portable_name(portable_name(str(parsed))) == portable_name(str(parsed))
    assert parse_model("llama:what?.gguf").rest == "what?.gguf"
    with pytest.raises(ConfigurationError, match="names nothing"):
        parse_model("llama:")


def test_with_how_many_threads_a_model_computes_is_said_where_nobody_named_them(tmp_path: Path) -> None:
    file = write_tiny(tmp_path / "tiny.gguf")
    told = [*set_up(Settings(model=f"llama:{file}"), make_world("alfworld"), "react").destinations()]
    assert told == [computes(f"llama:{file}")]
    assert f"computes with {LlamaOptions(threads=max(1, processors() - 1)).said_threads}" in told[0]
    assert [*set_up(Settings(model=f"llama:{file}?threads=1"), make_world("alfworld"), "react").destinations()] == []


def test_a_chat_template_is_a_regular_file(tmp_path: Path) -> None:
    check_irregular(lambda path: load_template(str(path)), tmp_path)
