"""Pictures in block characters: which colours a cell has, how few runs it takes, and text over it."""

from __future__ import annotations

from itertools import chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from rich.color import Color
from rich.style import Style
from textual.strip import Strip

from housequest.tui.widgets.blocks import ColourDepth, Overlay, block_lines, quantised

INK = Style.parse("#ffffff on #000000")


def picture(width: int, rows: int, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (rows, width, 3), np.uint8)


BLOCKS = {" ": "0000", "▘": "1000", "▝": "0100", "▀": "1100", "▖": "0010", "▌": "1010", "▞": "0110", "▛": "1110"}
"""Which of four pixels are ink."""


def pixels(strips: list[Strip]) -> NDArray[np.uint8]:
    """The picture that a terminal would show: two by two pixels a cell."""

    def rgb(colour: Color | None) -> tuple[int, int, int]:
        assert colour is not None
        red, green, blue = colour.get_truecolor()
        return red, green, blue

    rows: list[list[tuple[int, int, int]]] = []
    for strip in strips:
        upper: list[tuple[int, int, int]] = []
        lower: list[tuple[int, int, int]] = []
        for text, style, _ in strip:
            assert style is not None and len(set(text)) == 1
            four = [rgb(style.color if inked == "1" else style.bgcolor) for inked in BLOCKS[text[0]]]
            upper += four[:2] * len(text)
            lower += four[2:] * len(text)
        rows += [upper, lower]
    return np.asarray(rows, np.uint8)


@given(st.integers(1, 9), st.integers(1, 5), st.integers(0, 99), st.sampled_from(["truecolor", "256"]))
def test_two_colours_a_cell_are_shown_as_they_are(width: int, height: int, seed: int, depth: ColourDepth) -> None:
    random = np.random.default_rng(seed)
    pair = random.integers(0, 256, (2, height, width, 3), np.uint8)
    # Colours that are nearly one are shown as one.
    pair[1] = np.where(np.abs(pair[0].astype(int) - pair[1]) < 30, pair[0] ^ 0x80, pair[1])
    inked = random.integers(0, 2, (2 * height, 2 * width))
    big = np.repeat(np.repeat(pair, 2, 1), 2, 2)
    rgb = np.where(inked[..., None] == 1, big[1], big[0])
    strips = block_lines(rgb, depth)
    assert len(strips) == height and {strip.cell_length for strip in strips} == {width}
    assert (pixels(strips) == quantised(rgb, depth)).all()


@given(st.integers(0, 99))
def test_more_than_two_colours_a_cell_come_as_close_as_two_can(seed: int) -> None:
    rgb = picture(2, 2, seed)
    shown = pixels(block_lines(rgb)).astype(int)
    four = rgb.reshape(4, 3).astype(float)

    def off(way: int) -> float:
        inked = np.array([bool(way >> bit & 1) for bit in range(4)])
        return sum(((part - part.mean(0)) ** 2).sum() for part in (four[inked], four[~inked]) if len(part))

    # Colours are made few: up to 4 away for each of three.
    assert ((shown.reshape(4, 3) - four) ** 2).sum() <= min(map(off, range(8))) + 4 * 3 * 4**2


@given(st.integers(0, 99), st.sampled_from(["truecolor", "256"]))
def test_few_colours_are_near_and_stay_as_they_are(seed: int, depth: ColourDepth) -> None:
    rgb = picture(8, 8, seed)
    few = quantised(rgb, depth)
    assert (quantised(few, depth) == few).all()
    assert np.abs(few.astype(int) - rgb).max() <= (4 if depth == "truecolor" else 64)


def test_a_terminal_of_256_colours_gets_colours_that_it_has() -> None:
    few = quantised(picture(40, 40), "256").reshape(-1, 3).tolist()
    cube = {
        (a, b, c) for a in (0, 95, 135, 175, 215, 255) for b in (0, 95, 135, 175, 215, 255) for c in (0, 95, 135, 175, 215, 255)
    }
    assert {tuple(one) for one in few} <= cube | {(grey,) * 3 for grey in range(8, 239, 10)}


def test_what_is_alike_is_one_run() -> None:
    rgb = np.full((4, 60, 3), 90, np.uint8)
    rgb[2:, 20:] = 91  # the same among few colours
    rgb[3:, 40:] = 200
    assert [len(list(strip)) for strip in block_lines(rgb)] == [1, 2]
    rgb[:, ::2] += 6  # hardly to be seen
    assert len(list(block_lines(rgb)[0])) == 1


def test_text_lies_over_the_picture_and_moves_nothing() -> None:
    rgb = picture(40, 4)
    strips = block_lines(
        rgb, overlays=[Overlay(12, 0, "egg 2", INK), Overlay(3, 0, "鍋 1", INK), Overlay(15, 1, "oven 1"[:5], INK)]
    )
    assert [strip.cell_length for strip in strips] == [20, 20]
    assert strips[0].text.translate(dict.fromkeys(map(ord, BLOCKS), " ")).split() == ["鍋", "1", "egg", "2"]
    assert [style for text, style, _ in strips[0] if "egg" in text] == [INK]
    plain = block_lines(rgb)
    assert list(strips[0].crop(17)) == list(plain[0].crop(17)) and list(strips[1].crop(0, 15)) == list(plain[1].crop(0, 15))


def test_beneath_text_without_a_background_the_picture_shows_through() -> None:
    rgb = np.zeros((2, 18, 3), np.uint8)
    rgb[:, :, 0] = 200
    ink = Style.parse("#ffffff")
    bright, dark = (
        block_lines(rgb, overlays=[Overlay(2, 0, "x", ink)], paper=paper)[0] for paper in ((0, 0, 0), (250, 250, 250))
    )
    grounds = [style.bgcolor for text, style, _ in chain(bright, dark) if text == "x" and style is not None]
    red = [tuple(colour.get_truecolor()) for colour in grounds if colour is not None]
    assert red[0] == (84, 4, 4) and min(red[1]) > 140 and red[1][0] > red[1][1]
    assert rgb[0, 2, 0] == 200
