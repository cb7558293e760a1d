"""Reads names as models and people write them: the game's name or kind for a word, and the places that a text names or rules
out, also by a number, an ordinal or "the last".

Models write ``SinkBasin``, ``the sink basin`` or ``AppleSliced`` for what the text calls ``sinkbasin 1`` and ``apple 1``; the
papers' own examples do.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from importlib import resources
from itertools import pairwise

from housequest.worlds.household.belief import Belief, kind
from housequest.worlds.household.goals import SYNONYMS

LONGEST_NAME = 80
_PHRASES = tomllib.loads(resources.files("housequest.agent.skills").joinpath("phrases.toml").read_text("utf-8"))
CALLED: dict[str, tuple[str, ...]] = {
    **{word: (name,) for word, name in SYNONYMS.items()},
    **{said.replace(" ", ""): tuple(kinds) for by in ("planners", "people") for said, kinds in _PHRASES[by].items()},
}
"""All words for things, without spaces."""
ALIKE = (frozenset({"cup", "mug"}), frozenset({"desklamp", "floorlamp"}))  # Kinds that people and planners confuse.
_SHORTEST_ENDING = 4
_NUMBERED = re.compile(r"(?P<words>.*?)[\s_]*(?P<number>\d{1,6})?", re.ASCII)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+", re.ASCII)
_ARTICLES = frozenset({"a", "an", "the", "some", "another", "one", "any"})


def resolve(said: str, kinds: Collection[str], names: Collection[str] | None = None) -> str | None:
    """Find the kind among ``kinds``, or with a number the name, that ``said`` means. ``names`` are those of things seen.

    Another name of a known kind is accepted, since it may still be found. But a part of a kind's name ("glass") only means
    something seen; otherwise it would be a showerglass in every kitchen."""
    seen = kinds if names is None else {*map(kind, names)}
    names = names or ()
    bare = " ".join(said[:LONGEST_NAME].split())
    if bare in names or bare in kinds:
        return bare
    found = _NUMBERED.fullmatch(bare)
    if found is None:
        return None
    words = [word.lower() for word in _WORD.findall(found["words"])]
    words = [word for word in words if word not in _ARTICLES and word != "sliced"]
    known = {*kinds, *map(kind, names)}
    # Take the longest ending that is a name; adjectives may precede it ("clean mug").
    for start in range(len(words)):
        named = kind_of("".join(words[start:]), known, seen)
        if named is not None:
            return f"{named} {int(found['number'])}" if found["number"] else named
    return None


def matches(name: str, wanted: str) -> bool:
    """True if the thing called ``name`` is ``wanted``, a name or a kind."""
    return wanted in (name, kind(name))


def kinds_ending(word: str, kinds: Collection[str]) -> tuple[str, ...]:
    """The ``kinds`` that end in ``word``, by name: a "table" may be a diningtable or a sidetable."""
    return tuple(sorted(kind for kind in kinds if kind.endswith(word))) if len(word) >= _SHORTEST_ENDING else ()


def kind_of(joined: str, kinds: Collection[str], by_ending: Collection[str] | None = None) -> str | None:
    """The kind that a word without spaces means; also as the ending of just one of ``by_ending`` (default: all ``kinds``)."""
    singular = joined.removesuffix("ves")
    forms = (joined, joined.removesuffix("s"), joined.removesuffix("es"), f"{singular}f", f"{singular}fe")
    plain = next((form for form in forms if form in kinds), None)
    other = plain or next((name for form in forms for name in CALLED.get(form, ()) if name in kinds), None)
    if other:
        return other
    endings = {kind for form in forms for kind in kinds_ending(form, kinds if by_ending is None else by_ending)}
    return endings.pop() if len(endings) == 1 else None


def phrases(table: str) -> dict[str, re.Pattern[str]]:
    """The expressions of one ``table`` of phrases.toml by name."""
    found: dict[str, str] = _PHRASES[table]
    return {name: re.compile(pattern) for name, pattern in found.items()}


_SAID = phrases("places")


def named_places(places: Sequence[str], text: str) -> Iterator[str]:
    """The places that ``text`` names, in its order, without those that it rules out."""
    spoken = [*_spoken_of(places, text)]
    exceptions = {one for some, denied, numbered in spoken if denied and numbered for one in some}
    for some, denied, numbered in spoken:
        if not denied:
            yield from (one for one in some if numbered or one not in exceptions)


def denied_places(places: Sequence[str], text: str) -> frozenset[str]:
    """The places that ``text`` rules out."""
    denied = {one for some, denied, _ in _spoken_of(places, text) if denied for one in some}
    return frozenset(denied.difference(named_places(places, text)))


def mentions(kinds: Collection[str], text: str) -> Iterator[tuple[str, int, int]]:
    """Each of ``kinds`` that ``text`` names in one to three words, with the start and end of these."""
    words, position = list(_WORD.finditer(text)), 0
    while position < len(words):
        for size in (3, 2, 1):
            some = words[position : position + size]
            apart = any(text[one.end() : other.start()].strip("_- ") for one, other in pairwise(some))
            named = None if apart else kind_of("".join(each[0] for each in some).lower(), kinds)
            if named is not None:
                yield named, some[0].start(), some[-1].end()
                position += len(some) - 1
                break
        position += 1


def _spoken_of(places: Sequence[str], text: str) -> Iterator[tuple[list[str], bool, bool]]:
    """The places that ``text`` names, with flags: it rules the place out; it names it by number."""
    text = _SAID["all_but"].sub(r"\g<all> except", text)
    text = _SAID["aside"].sub(lambda one: " is unlikely" if _SAID["refused"].match(one["about"]) else "", text)
    text = _SAID["item"].sub(lambda one: "" if _SAID["refused"].match(one["about"]) else one["item"], text)
    for named, start, after in mentions({kind(one) for one in places}, text):
        numbers, end = numbers_after(text, after)
        alike = sorted((name for name in places if kind(name) == named), key=lambda name: (len(name), name))
        some = [one for one in alike if not numbers or int(one.split()[-1]) in numbers]
        yield some, _denied(text, start) or _SAID["no_behind"].match(text, end) is not None, bool(numbers)


def _denied(text: str, at: int) -> bool:
    clause = _SAID["clause"].split(text[max(0, at - 200) : at])[-1]
    clause = _SAID["said"].sub("", _SAID["unsure"].sub("", clause))
    no = next(reversed([*_SAID["not"].finditer(clause)]), None)
    if no is None:
        return False
    _, comma, other = clause[no.end() :].partition(",")
    # "Not the fridge, the shelf" names the right place last; "not the fridge, the shelf or the drawer" names three wrong ones.
    contrasted = comma and _SAID["contrasted"].search(clause[: no.end()])
    return not contrasted or _SAID["or"].search(other + re.split(r"[.;!?\n]", text[at:])[0]) is not None


def numbers_after(text: str, at: int) -> tuple[set[int], int]:
    """The numbers after the name of a kind, as in "cabinets 1 to 3" or "drawer 2 and 4", and where they end."""
    numbers = set[int]()
    while found := _SAID["numbers"].match(text, at):
        first = int(found["first"])
        numbers.update(range(first, min(int(found["last"] or first), first + 100) + 1))
        at = found.end()
        more = _SAID["and"].match(text, at)
        if more is None:
            break
        at = more.end()
    return numbers, at


_UNITS = "one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_IRREGULAR = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth"}


def _ordinal(cardinal: str) -> str:
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
"""Words for some places of a kind, as a slice of the list by number."""
_FROM_HERE = ("next", "previous", "other", "another", "different")
_NONE_SUCH = 0
_LIKE = 0.8  # The least likeness of a misspelt number word to the real one, in [0, 1].


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
    """Put numbers after the kinds of places in ``text``: "third cabinet", "cabinet number three" and, if there are three,
    "last cabinet" become "cabinet 3". A place that the house does not have gets 0."""

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
    """``word``, or the ordinal if it has one letter too many, too few or misplaced. "Their" is not "third"."""
    near = next(iter(get_close_matches(word, (*_ORDINALS, *_IN_ROW, *_FROM_HERE), 1, _LIKE)), word)
    return word if word in _CARDINALS or (len(near) == len(word) and sorted(near) != sorted(word)) else near


def _meant(said: str, of_kind: str, belief: Belief) -> str:
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
