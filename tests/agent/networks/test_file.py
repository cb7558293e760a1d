"""The file of a network, for both that ship: what is written is read, and what is damaged is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.agent.models.builtin import network as builtin
from housequest.agent.networks import WeightsFormat, digest
from housequest.worlds.errors import ConfigurationError
from tests.agent.models.builtin import tiny
from tests.parts import installed, needs

CARDS = Path(__file__).parents[3] / "docs" / "explanation"


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the formats, the file that ships in it with its card, and a tiny network."""

    format: WeightsFormat[Any, Any]
    shipped: Path
    card: Path
    shape: Any
    refusal: str

    def vocabulary(self, *more: str) -> Any:
        return self.format.vocabulary([*self.format.words(self.format.vocabulary(())), *tiny.WORDS, *more])

    def weights(self, vocabulary: Any) -> dict[str, Any]:
        random = np.random.default_rng(1)
        return {name: random.normal(size=size) for name, size in self.format.sizes(self.shape, vocabulary).items()}

    def write(self, folder: Path, *more: str) -> Path:
        vocabulary = self.vocabulary(*more)
        self.format.write(folder / "a.weights", self.shape, vocabulary, self.weights(vocabulary))
        return folder / "a.weights"


def kinds() -> Iterator[Kind]:
    """The format of the model that ships, and that of Action Attention where it is in this tree."""
    yield Kind(builtin.FORMAT, builtin.SHIPPED, CARDS / "builtin.md", tiny.SHAPE, "no built-in model")
    if installed("action-attention"):
        from housequest.agent.agents.action_attention import network as attention
        from housequest.agent.agents.action_attention.network import AttentionShape

        shape = AttentionShape(embedded=8, width=8, layers=2, heads=2, hidden=6)
        card = CARDS / "action-attention.md"
        yield Kind(attention.FORMAT, attention.SHIPPED, card, shape, "no weights of Action Attention")


KINDS = tuple(kinds())
each_kind = pytest.mark.parametrize("kind", KINDS, ids=["builtin", "action-attention"][: len(KINDS)])


@each_kind
def test_the_file_that_ships_is_written_as_it_was_read(kind: Kind, tmp_path: Path) -> None:
    kind.format.write(tmp_path / "b.weights", *kind.format.read(kind.shipped))
    assert (tmp_path / "b.weights").read_bytes() == kind.shipped.read_bytes()
    assert kind.shipped.stat().st_size < 5_000_000


@each_kind
def test_the_card_is_about_the_file_that_ships(kind: Kind) -> None:
    told, size = digest(kind.shipped), f"{kind.shipped.stat().st_size:,} bytes"
    card = kind.card.read_text("utf-8")
    assert f"`{told[:8]}…{told[-9:]}`" in card
    assert size in card


@each_kind
def test_weights_are_rounded_to_sixteen_bits_and_nothing_else(kind: Kind, tmp_path: Path) -> None:
    vocabulary = kind.vocabulary()
    shape, known, weights = kind.format.read(kind.write(tmp_path))
    assert (shape, kind.format.words(known)) == (kind.shape, kind.format.words(vocabulary))
    for name, values in kind.weights(vocabulary).items():
        assert (weights[name] == values.astype(np.float16)).all()


@each_kind
@pytest.mark.parametrize(
    ("head", "why"),
    [
        ({"format": "another"}, "does not begin"),
        ({"shape": {"size": 3}}, "does not begin"),
        ({"shape": {"width": "a"}}, "do not fit"),
        ({"shape": {"width": 0}}, "do not fit"),
        ({"shape": {"width": 9}}, "do not fit"),
        ({"shape": {"layers": 65}}, "do not fit"),
        ({"words": 3}, "does not begin"),
        ({"words": [1]}, "do not fit"),
        ({"words": ["mug", "mug"]}, "do not fit"),
        ({"words": []}, "do not fit"),
    ],
)
def test_a_first_line_that_fits_nothing_is_refused(kind: Kind, tmp_path: Path, head: dict[str, Any], why: str) -> None:
    said: dict[str, Any] = {"format": kind.format.title, "shape": asdict(kind.shape), "words": ["mug"]}
    said |= head | ({"shape": asdict(kind.shape) | head["shape"]} if "shape" in head else {})
    said[kind.format.listed] = said.pop("words")
    file = tmp_path / "a.weights"
    file.write_bytes(json.dumps(said).encode() + b"\n00")
    with pytest.raises(ConfigurationError, match=f"{kind.refusal}: .*{why}"):
        kind.format.read(file)


@each_kind
@pytest.mark.parametrize("content", [b"", b"{}\n", b"[" * 100_000])
def test_what_is_no_network_at_all_is_refused(kind: Kind, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.weights").write_bytes(content)
    with pytest.raises(ConfigurationError, match=kind.refusal):
        kind.format.read(tmp_path / "a.weights")


@each_kind
def test_a_file_cut_short_or_too_long_is_refused(kind: Kind, tmp_path: Path) -> None:
    file = kind.write(tmp_path)
    whole = file.read_bytes()
    for content in (whole[:-2], whole + b"00"):
        file.write_bytes(content)
        with pytest.raises(ConfigurationError, match="do not fit its sizes"):
            kind.format.read(file)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(KINDS), st.binary(max_size=200), st.integers(0, 20_000), st.integers(0, 255))
def test_a_damaged_file_is_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, kind: Kind, junk: bytes, at: int, byte: int
) -> None:
    folder = tmp_path_factory.mktemp("networks")
    (folder / "junk.weights").write_bytes(junk)
    with pytest.raises(ConfigurationError, match=kind.refusal):
        kind.format.read(folder / "junk.weights")
    file = kind.write(folder)
    content = bytearray(file.read_bytes())
    content[at % len(content)] = byte
    file.write_bytes(content)
    try:
        kind.format.read(file)
    except ConfigurationError as error:
        assert kind.refusal in str(error)


@each_kind
@pytest.mark.parametrize("word", ["m\ud800g", "mug\x1b[31m", "m" * 101])
def test_words_that_cannot_be_shown_are_refused(kind: Kind, tmp_path: Path, word: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be shown"):
        kind.format.read(kind.write(tmp_path, word))


@each_kind
def test_weights_that_are_no_numbers_are_refused(kind: Kind, tmp_path: Path) -> None:
    file = kind.write(tmp_path)
    file.write_bytes(file.read_bytes()[:-2] + np.array([np.nan], "<f2").tobytes())
    with pytest.raises(ConfigurationError, match="not numbers"):
        kind.format.read(file)


@each_kind
def test_a_file_that_is_not_there_is_named(kind: Kind, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere\.weights' cannot be read"):
        kind.format.read(tmp_path / "nowhere.weights")


@each_kind
def test_an_export_that_breaks_off_leaves_what_was_there(kind: Kind, tmp_path: Path) -> None:
    file = kind.write(tmp_path)
    before, vocabulary = file.read_bytes(), kind.vocabulary()
    with pytest.raises(KeyError):
        kind.format.write(file, kind.shape, vocabulary, {})
    assert file.read_bytes() == before


@needs("action-attention")
def test_one_kind_is_not_read_as_the_other(tmp_path: Path) -> None:
    one, other = KINDS
    with pytest.raises(ConfigurationError, match=one.refusal):
        one.format.read(other.write(tmp_path))
