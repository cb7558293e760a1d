"""Makes the untrusted text of games and models safe to show; and writes shares and names as people read them."""

from __future__ import annotations

_KEPT = {"\n", "\u200c", "\u200d"}
"""Not printable by the letter of Unicode, but harmless: line ends, and the joiners that scripts and emoji need."""
_SPACES = {"\t": "    ", "\u00a0": " ", "\u3000": "  "}


def printable(text: str) -> str:
    """``text`` with every character that could steer a terminal, reverse its direction or break its encoding made visible."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(character) for character in text.replace("\r\n", "\n"))


def _visible(character: str) -> str:
    if character.isprintable() or character in _KEPT:
        return character
    if character in _SPACES:
        return _SPACES[character]
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def with_article(noun: str) -> str:
    """A noun with "a" or "an"."""
    return f"{'an' if noun[:1].lower() in set('aeiou') else 'a'} {noun}"


def plural_of(noun: str) -> str:
    """A noun in the plural, such as shelves, knives and boxes."""
    for end, several in (("lf", "lves"), ("fe", "ves")):
        if noun.endswith(end):
            return f"{noun.removesuffix(end)}{several}"
    return f"{noun}{'es' if noun.endswith(('s', 'sh', 'ch', 'x')) else 's'}"


def percentage(share: float, places: int = 0) -> str:
    """A share in [0, 1] in per cent, without the sign; only exactly 0 shows as 0, and only exactly 1 as 100."""
    least = 10**-places
    return f"{min(max(100 * share, least), 100 - least) if 0 < share < 1 else 100 * share:.{places}f}"


def cut(text: str, longest: int) -> str:
    """At most ``longest`` characters of ``text``, and the number of those cut off."""
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text) - longest} characters more)"


def cut_at_word(text: str, longest: int) -> str:
    """At most ``longest`` characters of ``text``, up to a word's end unless that is very long, and an ellipsis for the rest."""
    if len(text) <= longest:
        return text
    begun = text[:longest]
    whole = begun[: max(begun.rfind(" "), 0)].rstrip()
    return f"{whole if 2 * len(whole) > longest else begun[:-1]}…"


def many(count: int, word: str) -> str:
    """``count`` and ``word``, in the plural unless the count is 1."""
    return f"{count} {word}{'' if count == 1 else 's'}"
