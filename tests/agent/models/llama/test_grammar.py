"""The grammar of given texts allows each of them and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from agent.models.llama.shared import choice_grammar


def spelt(grammar: str) -> list[str]:
    """All that a grammar without loops allows."""
    rules = dict(line.split(" ::= ", 1) for line in grammar.split("\n"))

    def texts(name: str) -> Iterator[str]:
        rest, decoder = rules[name], json.JSONDecoder()
        while rest:
            start, end = decoder.raw_decode(rest)
            rest = rest[end:].removeprefix(" ")
            below, _, rest = rest.partition("| ")
            yield from (start + text for text in (texts(below.strip()) if below.strip() else [""]))
            rest = rest.removeprefix(" ")

    return list(texts("root"))


@given(st.lists(st.text(st.sampled_from('ab" \\|é.-'), max_size=6), min_size=1, max_size=30))
def test_a_trie_of_texts_is_those_texts(choices: list[str]) -> None:
    found = spelt(choice_grammar(choices))
    assert sorted(found) == sorted(set(choices))


def test_what_texts_begin_with_alike_is_written_once() -> None:
    grammar = choice_grammar(["find a pan,", "find a pancake,", "done."])
    assert grammar == 'root ::= "done." | "find a pan" root-0\nroot-0 ::= "," | "cake,"'
