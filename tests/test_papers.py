"""docs/reference/agents.md sets every table and figure of each paper beside what is here, and names what ships to play them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "reference" / "agents.md").read_text("utf-8")
PAPERS = {
    "OPEx": (5, 5),
    "PET": (4, 6),
    "LLM-Planner": (4, 5),
    "the Socratic Planner": (4, 6),
    "LoTa-Bench": (8, 12),
}
"""How many tables and figures each paper has."""
_NUMBERS = re.compile(r"\b(table|figure)s? (\d+(?:(?:, | and | to )\d+)*)", re.IGNORECASE)


def numbered(text: str) -> dict[str, set[int]]:
    """The numbers of the tables and figures that ``text`` names, also as "tables 2 and 3" or "figures 8 to 11"."""
    found: dict[str, set[int]] = {"table": set(), "figure": set()}
    for what, said in _NUMBERS.findall(text):
        for part in re.split(r", | and ", said):
            first, _, last = part.partition(" to ")
            found[what.lower()] |= set(range(int(first), int(last or first) + 1))
    return found


def rows(paper: str) -> list[list[str]]:
    """The cells of the paper's table of components."""
    _, head, rest = PAGE.partition(f"| component of {paper} | here |\n")
    assert head, f"no table for {paper}"
    lines = rest.partition("\n\n")[0].splitlines()[1:]
    return [line.strip("| ").split(" | ") for line in lines]


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_and_figure_of_a_paper_has_a_row(paper: str) -> None:
    tables, figures = PAPERS[paper]
    named = numbered("\n".join(row[0] for row in rows(paper)))
    assert named == {"table": set(range(1, tables + 1)), "figure": set(range(1, figures + 1))}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_row_says_whether_it_is_here(paper: str) -> None:
    for component, told in rows(paper):
        assert re.search(r"\b(here|differs?|drawing|card)\b", told), component


def test_every_sweep_that_ships_is_named_in_the_documentation() -> None:
    told = "".join(page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md"))
    shipped = {file.name for file in (ROOT / "examples" / "sweeps").glob("*.yaml")}
    assert {name for name in shipped if name not in told} == set()
    assert set(re.findall(r"examples/sweeps/([\w-]+\.yaml)", told)) <= shipped
