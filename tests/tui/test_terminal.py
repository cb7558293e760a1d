"""What is printed fits the terminal, and a pipe gets whole lines."""

from __future__ import annotations

import io
import os

import pytest

from housequest.tui.terminal import folded


def test_lines_break_between_words_where_a_person_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "  in 8 turns nothing was refused"
    monkeypatch.setenv("COLUMNS", "24")
    keyboard, screen = os.openpty()
    with os.fdopen(keyboard), os.fdopen(screen, "w") as terminal:
        assert folded(line, terminal) == ["  in 8 turns nothing was", "  refused"]
        assert folded("", terminal) == [""]
    assert folded(line, io.StringIO()) == [line]
