"""A person's words made plain: small letters, whole words, no slips of the pen, no politeness; and split into clauses."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator
from functools import cache
from importlib import resources
from itertools import chain

from rapidfuzz import process
from rapidfuzz.distance import OSA

from housequest.agent.skills import naming
from housequest.worlds.household.belief import Belief
from housequest.worlds.household.goals import PLACES

LONGEST = 500
_PHRASES: dict[str, dict[str, str]] = tomllib.loads(
    resources.files("housequest.agent.skills.language").joinpath("sentences.toml").read_text("utf-8")
)
_SHORT = {
    **{"n't": " not", "'m": " am", "'re": " are", "'ve": " have", "'ll": " will", "'d": " would"},
    **{"let's": "let us", "won't": "will not", "can't": "can not", "shan't": "shall not"},
}
_BARE = {
    **{f"{word}nt": f"{word} not" for word in ("do", "does", "did", "is", "are", "was", "were", "ca", "have", "has", "had")},
    **{f"{word}nt": f"{word} not" for word in ("could", "would", "should", "must")},
    **{"cannot": "can not", "wont": "will not", "im": "i am", "ive": "i have", "youre": "you are", "youve": "you have"},
    **{"thats": "that is", "theres": "there is", "whats": "what is", "wheres": "where is", "hows": "how is", "whos": "who is"},
    **{
        "its": "it is",
        "lets": "let us",
        "dunno": "do not know",
        "nvm": "never mind",
        "u": "you",
        "ur": "your",
        "r": "are",
        "y": "why",
    },
    **{"wanna": "want to", "gonna": "going to", "gotta": "got to", "ill": "i will", "id": "i would", "hes": "he is"},
    **{"ca": "can", "wo": "will", "wut": "what", "wat": "what", "da": "the", "dat": "that", "ya": "you", "plz": "please"},
}
_IS = re.compile(r"\b(what|where|how|who|that|there|it|he|she|here|why|when|which)'s\b")
_LEAST_SPELLED = 3
"""Shorter words are what they are."""
_BREAK = re.compile(r"(?P<ask>\?)|[.;!\n]+(?!\d)|\s-+\s|\.\.\.")


def phrases(table: str) -> dict[str, re.Pattern[str]]:
    """The expressions of one table of sentences.toml by name."""
    return {name: re.compile(pattern) for name, pattern in _PHRASES[table].items()}


def lines(table: str) -> dict[str, tuple[str, ...]]:
    """The expressions of one table of sentences.toml by name, of which each has several, one a line."""
    return {name: tuple(filter(None, text.splitlines())) for name, text in _PHRASES[table].items()}


def verb_pattern(verb: str) -> str:
    """The expression of a verb of sentences.toml, as text."""
    return _PHRASES["verbs"][verb]


_VERBS = {name: re.compile(rf"(?:{pattern})(?![\w'-])") for name, pattern in _PHRASES["verbs"].items()}
VERBS = tuple(_PHRASES["verbs"])
_VERB_WORDS = frozenset(re.findall(r"[a-z]{3,}", " ".join(_PHRASES["verbs"].values())))
_PARTED = [(re.compile(said), meant) for said, meant in _PHRASES["parted"].items()]
SHAPES = phrases("shapes")
_BEFORE, _AFTER = re.compile(_PHRASES["fillers"]["before"]), re.compile(_PHRASES["fillers"]["after"])


def plain(said: str) -> str:
    """The text in small letters, with "don't" and "whats" written out."""
    text = said[:LONGEST].lower().replace("’", "'").replace("`", "'").replace("&", " and ")
    text = _IS.sub(r"\1 is", re.sub(r"([a-z])\1{2,}", r"\1", text))
    text = text.replace("whatcha", "what you").replace("gotcha", "got you")
    for short, whole in _SHORT.items():
        text = re.sub(rf"(?<=\w){re.escape(short)}\b" if short[0] in "n'" else rf"\b{re.escape(short)}\b", whole, text)
    text = re.sub(r"[a-z]+", lambda word: _BARE.get(word[0], word[0]), text)
    return SHAPES["mind"].sub("", SHAPES["tag"].sub("", text))


def spelled(text: str, belief: Belief, known: Collection[str]) -> str:
    """``text`` with slips mended: a word that is nearly a verb, or the name of something here, becomes it; ``known`` kinds are
    no slips."""
    names = {word for name in (*belief.kinds, *(item.kind for item in belief.items)) for word in (name, f"{name}s")}
    called = {said for said in naming.CALLED if naming.kind_of(said, names)}

    def mended(found: re.Match[str]) -> str:
        word = found[0]
        if any(one in words for one in (word, word.removesuffix("s")) for words in (names, known, called, PLACES, everyday())):
            return word
        if (short := _shortened(word, belief.kinds)) is not None:
            return short
        # Letters in another order are the commonest slip.
        swapped = [
            one
            for words in (names, _VERB_WORDS, called, everyday(), _BARE)
            for one in words
            if sorted(one) == sorted(word) and one[0] == word[0]
        ]
        if swapped and len(word) > _LEAST_SPELLED:
            return _BARE.get(swapped[0], swapped[0])
        allowed = 1 if len(word) < 6 else 2
        for words in (names, _VERB_WORDS, called, everyday()):
            near = [
                (distance, sorted(one) != sorted(word), not one.startswith(word), one)
                for one, distance, _ in process.extract(
                    word, sorted(words), scorer=OSA.distance, score_cutoff=allowed, limit=20
                )
                if one[0] == word[0] and len(one) > 2
            ]
            if near:
                return min(near)[-1]
        return word

    return re.sub(rf"[a-z]{{{_LEAST_SPELLED},}}", mended, text)


def _shortened(word: str, kinds: Collection[str]) -> str | None:
    """The one kind of place that a word shortens: "micro", or "dwr" without its vowels."""
    letters = re.compile(".*".join(word))
    whole = re.search("[aeiou]", word) is not None
    found = [one for one in kinds if one.startswith(word) or (not whole and letters.match(one) is not None)]
    return found[0] if len(found) == 1 and len(word) > (3 if whole else 2) else None


@cache
def everyday() -> frozenset[str]:
    """The words of sentences.toml: those that are read, and everyday words that are no slips of others."""
    tables = chain.from_iterable(table.values() for table in _PHRASES.values())
    return frozenset(re.findall(r"[a-z]{3,}", " ".join(tables)))


def is_begun(letters: str) -> bool:
    """True if a word that people say begins so."""
    return any(word.startswith(letters) for word in everyday())


def bare(clause: str) -> str:
    """A clause without the words that make it polite."""
    before = ""
    while clause != before:
        before = clause
        clause = _AFTER.sub("", clause.strip(" ,.!"))
        if (found := _BEFORE.match(clause)) is not None:
            rest = clause[found.end() :].strip(" ,")
            # "Please" alone, or "go and", is no clause without its verb.
            clause = rest or clause
    return clause


def verb_of(clause: str) -> tuple[str, str] | None:
    """The verb that a bare clause begins with, and the text after it; None if it begins with none.

    "Opening" is read as "open".
    """
    for text in (clause, _finite(clause)):
        for name, pattern in _VERBS.items():
            if (found := pattern.match(text)) is not None:
                return name, text[found.end() :].strip(" ,")
    return None


def _finite(clause: str) -> str:
    """A clause that begins with a form in -ing, with the plain verb."""
    found = re.match(r"([a-z]{2,}?)([a-z])(\2)?ing\b", clause)
    if found is None:
        return clause
    rest = clause[found.end() :]
    stem = found[1] + found[2]
    forms = (stem, f"{stem}e", stem + (found[3] or ""))
    verb = next((one for one in forms if any(pattern.fullmatch(one) for pattern in _VERBS.values())), None)
    return clause if verb is None else verb + rest


def joined(clause: str) -> str:
    """A clause with its verb in one piece: "turn it off" is "switch off it"."""
    for pattern, meant in _PARTED:
        clause = pattern.sub(meant, clause)
    return clause


_LEADS = frozenset(_PHRASES["shapes"]["leads"].split())
"""Words right before the verb of an order."""
_STRONG = frozenset({"open", "close", "take", "put", "heat", "cool", "clean", "slice", "use", "take_off"})
_MOST_AHEAD = 6
"""Words that may stand before a verb that none of `_LEADS` announces."""


def needed(clause: str) -> str | None:
    """The thing that somebody says to want or need."""
    text = re.sub(r"^(?:i (?:believe|think|guess|suppose)|oh|well|now|so|hm+) ", "", clause)
    need = SHAPES["needed"].match(text)
    return None if need is None else _AFTER.sub("", text[need.end() :])


def verb_within(clause: str) -> tuple[str, str] | None:
    """The verb of an order that does not begin with it: "I would be glad if you opened it", "the drawer, close it please"."""
    for at in [found.start() for found in re.finditer(r"\b[a-z]", clause)][1:]:
        ahead = clause[:at]
        if SHAPES["told_of"].search(ahead):
            return None
        verb = verb_of(clause[at:])
        if verb is None or verb[0] == "look":
            continue
        words = ahead.split()
        if words[-1].strip(",") in _LEADS:
            # "The drawer please close again" names it before.
            return verb if verb[1] not in ("", "again", "up") else (verb[0], ahead.rpartition(words[-1])[0].strip(" ,"))
        vague = SHAPES["no_lead"].search(ahead) or re.search(r"\b(?:is|are|was|were|maybe|perhaps)\b", ahead)
        if verb[0] in _STRONG and len(words) <= _MOST_AHEAD and not vague:
            return verb[0], f"{ahead.strip(' ,')} {verb[1]}".strip()
    return None


def is_beyond(clause: str) -> str | None:
    """The verb at the start of a clause that no body here can follow."""
    found = re.match(rf"(?:{_PHRASES['never']['verbs']})\b", clause)
    return None if found is None or verb_of(clause) is not None else found[0]


def clauses(text: str) -> Iterator[tuple[str, bool]]:
    """The clauses of a text, each with True if a question mark ends it."""
    at = 0
    for found in chain(_BREAK.finditer(text), (None,)):
        sentence = text[at : None if found is None else found.start()].strip()
        asked = found is not None and found["ask"] is not None
        at = len(text) if found is None else found.end()
        if sentence:
            parts = [*_parted(sentence)]
            yield from ((part, asked and part is parts[-1]) for part in parts)


def _parted(sentence: str) -> Iterator[str]:
    """The parts of a sentence: a joint counts only before something that can stand alone."""
    begin = 0
    for joint in SHAPES["joint"].finditer(sentence):
        rest = sentence[joint.end() :]
        strong = any(word in joint[0] for word in ("then", "after"))
        if sentence[begin : joint.start()].strip() and (strong or stands_alone(rest)) and rest.strip():
            yield sentence[begin : joint.start()].strip(" ,")
            begin = joint.end()
    yield sentence[begin:].strip(" ,")


def stands_alone(text: str) -> bool:
    """True if a text begins like a clause of its own: with a verb, a no, a question."""
    return SHAPES["alone"].match(text) is not None or verb_of(bare(joined(text))) is not None
