"""Optional parts, for tests of the core that also play with one of them: they are skipped where it was taken out."""

from __future__ import annotations

import pytest

from scripts.parts import ROOT, is_in, parts


def installed(*parts: str) -> bool:
    """Whether each of these parts is in this tree."""
    return all(is_in(ROOT, part) for part in parts)


def needs(*parts: str) -> pytest.MarkDecorator:
    """Skip a test, or one of its parameters, where one of these parts is not in this tree."""
    gone = [part for part in parts if not installed(part)]
    return pytest.mark.skipif(bool(gone), reason=f"not installed here: {', '.join(gone)}")


WHOLE = needs(*parts())
"""For what is about all of housequest."""
