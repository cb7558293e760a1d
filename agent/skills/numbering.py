"""Reads which of several places a person means by a number, an ordinal or "the last", by the numbers that the house has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from housequest.worlds.household.belief import Belief, kind

_UNITS = "one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_IRREGULAR = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth"}


def _ordinal(cardinal: str) -> str:
    """The ordinal of a number in words."""
    *tens, last = cardinal.split()
    regular = f"{last.removesuffix('y')}ieth" if last.endswith("y") else f"{last.replace('twelve', 'twelf')}th"
    return " ".join((*tens, _IRREGULAR.get(last, regular)))


_ABOVE = (f"{ten} {unit}".strip() for ten in _TENS.split() for unit in ("", *_UNITS.split()))
_CARDINALS = {said: number for number, said in enumerate((*_UNITS.split(), *_TEENS.split(), *_ABOVE), 1)}
_FEW = [(said, number) for said, number in _CARDINALS.items() if 2 <= number <= 9]
_ORDINALS = {_ordinal(said): number for said, number in _CARDINALS.items()} | {"hundredth": 100}
_IN_ROW = (
    {"first": slice(0, 1)}
    | dict.fromkeys(("last", "final"), slice(-1, None))
    | dict.fromkeys(("last but one", "next to last"), slice(-2, -1))
    | {f"{_ordinal(word)}{to}last": slice(-few, 1 - few) for word, few in _FEW for to in (" ", " to ", " to the ")}
    | {f"first {said}": slice(0, few) for word, few in _FEW for said in (word, few)}
    | {f"last {said}": slice(-few, None) for word, few in _FEW for said in (word, few)}
)
"""Words for some of the places of a kind, as a slice of these in the order of their numbers."""
_FROM_HERE = ("next", "previous", "other", "another", "different")
_NONE_SUCH = 0


def _any(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(sorted(words, key=len, reverse=True))})"


_CARDINAL = rf"(?:\d{{1,6}}(?!\w)|{_any(_CARDINALS)}\b(?! (?:by one|more|time|of)\b))"
_ORDINAL = rf"(?:\d{{1,6}} ?(?:st|nd|rd|th)|{_any({*_ORDINALS, *_IN_ROW, *_FROM_HERE})})\b"
_HUNDREDS = re.compile(rf"\b(?:(?P<many>a|{_any(_CARDINALS)}) )?hundred\b(?:(?: and)? (?P<rest>{_any(_CARDINALS)})\b)?")
_ONE = re.compile(rf"\b(?:{_ORDINAL}|{_CARDINAL})")
_NUMBER = r"(?:(?:number|num|no|nr)\b\.?|#)"
_AND = r"(?: ?,|,? and|,? or)(?: the)? "
_OF = r"(?: ones?)?(?: of(?: all| the| my| our| these| those)*)?"
_CALLED = rf"(?: (?:with|of|called) (?:the |a )?(?={_NUMBER}|{_CARDINAL}(?: on\b|$)))?(?:,? ?{_NUMBER})? ?"


def with_numbers(text: str, belief: Belief) -> str:
    """``text``, which names kinds of places as the house does, with the numbers of the places behind their kind.

    "third cabinet", "3rd cabinet", "cabinet number three" and, where there are three, "last cabinet" become "cabinet 3". What
    the house does not have keeps its number, or has the number 0.
    """

    def numbered(found: re.Match[str]) -> str:
        said = found["said"].replace(" the ", " ")
        return f"{found['kind']} {_ONE.sub(lambda one: _meant(one[0], found['kind'], belief), said)}"

    def again(found: re.Match[str]) -> str:
        return f"{found['kind']}{found['between']}{numbered(found)}"

    kinds = rf"\b(?P<kind>{_any(map(re.escape, belief.kinds))})\b"
    text = re.sub(r"(?<=[a-z])-(?=[a-z])", " ", text)
    text = _HUNDREDS.sub(lambda one: str(100 * _CARDINALS.get(one["many"], 1) + _CARDINALS.get(one["rest"], 0)), text)
    text = re.sub(rf"\b[a-z]{{4,}}(?= {kinds})", lambda said: _spelled(said[0]), text)
    text = re.sub(rf"\b(?P<said>{_ORDINAL}(?:{_AND}{_ORDINAL})*){_OF} {kinds}(?!(?:,? ?{_NUMBER})? ?\d)", numbered, text)
    text = re.sub(rf"\b{_NUMBER} ?(?P<said>{_CARDINAL}) {kinds}(?!(?:,? ?{_NUMBER})? ?\d)", numbered, text)
    text = re.sub(rf"(?<!that )(?<!this ){kinds},? the (?P<said>{_ORDINAL})(?: one)?\b(?! time)", numbered, text)
    text = re.sub(
        rf"{kinds}(?P<between>[^.;!?\n]{{0,40}}? )the (?P<said>{_ORDINAL})(?: ones?)?(?= *(?:[.,;!?\n]|$))", again, text
    )
    return re.sub(rf"{kinds}{_CALLED}(?P<said>{_CARDINAL}(?:(?:{_AND}| to ){_CARDINAL})*)", numbered, text)


def _spelled(word: str) -> str:
    """``word``, or the ordinal of which it is a slip: with a letter too many, too few or misplaced. "Their" is no "third"."""
    near = next(iter(get_close_matches(word, (*_ORDINALS, *_IN_ROW, *_FROM_HERE), 1, _MORE_LIKE)), word)
    return word if word in _CARDINALS or (len(near) == len(word) and sorted(near) != sorted(word)) else near


def _meant(said: str, of_kind: str, belief: Belief) -> str:
    """The number of the place that ``said`` means, or several with "and"."""
    row = sorted((one.number, one.contents is None) for one in belief.receptacles if one.kind == of_kind)
    numbers = [number for number, _ in row]
    here = int(belief.at.split()[-1]) if belief.at is not None and kind(belief.at) == of_kind else None
    if said in _IN_ROW:
        meant = numbers[_IN_ROW[said]]
    elif said not in _FROM_HERE:
        digits = re.match(r"\d+", said)
        meant = [int(digits[0]) if digits else (_CARDINALS | _ORDINALS)[said]]
    elif said == "previous":
        meant = [number for number in numbers if here is not None and number < here][-1:]
    elif said == "next":
        meant = [number for number, unseen in row if (unseen if here is None else number > here)][:1]
    else:
        others = [(number, unseen) for number, unseen in row if number != here]
        meant = [number for number, unseen in others if unseen] or [number for number, _ in others]
    return " and ".join(map(str, meant or [_NONE_SUCH]))
