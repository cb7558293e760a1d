"""Grammars (GBNF, llama.cpp's own form) that hold a reply to given texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile


def choice_grammar(choices: Sequence[str]) -> str:
    """The grammar of one of the given texts: their trie, a rule for each of its forks.

    Written one beside the other, some hundred texts would all be looked at for every token of the vocabulary; of a trie, only
    the branches of one fork are. What is allowed is the same, so greedy decoding finds the same text.
    """
    return "\n".join(f"{name} ::= {body}" for name, body in _rules("root", sorted(set(choices))))


def _rules(name: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The rule ``name`` for ``texts``, which are sorted and differ, and after it those that it speaks of."""
    bodies: list[str] = []
    below: list[tuple[str, Sequence[str]]] = []
    for _, group in groupby(texts, key=lambda text: text[:1]):
        branch = list(group)
        # They are sorted: what the first and the last begin with, all between them do.
        ends = zip(branch[0], branch[-1], strict=False)
        shared = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], ends))
        if len(branch) == 1:
            bodies.append(_quoted(shared))
        else:
            fork = f"{name}-{len(below)}"
            bodies.append(f"{_quoted(shared)} {fork}")
            below.append((fork, [text[len(shared) :] for text in branch]))
    yield name, " | ".join(bodies)
    for fork, rest in below:
        yield from _rules(fork, rest)


def _quoted(text: str) -> str:
    # JSON's escapes are the grammar's own.
    return json.dumps(text, ensure_ascii=False)
