"""A small network that distils the counts of a home as groups of things: "Kept in drawer 7: cup, mug; sometimes fork."

Code counts; for each place where a kind of thing was seen, the network judges by the counts how large a share of these things
is kept there. By that it chooses one of three: usually, sometimes, or not worth a word. So it names nothing that was not seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np

from housequest.agent.networks import Floats, WeightsFormat
from housequest.knowledge.mining import Mined, mine_table
from housequest.knowledge.rules import WITNESSES, Evidence, Origin, Rule
from housequest.knowledge.sentences import KeptThings, Location, PlaceShare, looked_rule
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.household.belief import kind
from housequest.worlds.household.counts import Counts

SHIPPED = Path(__file__).with_name("distiller.weights")
SIGNS = (
    "days",
    "looks",
    "share",
    "more a day",
    "best share elsewhere",
    "part of all shares",
    "share in train",
    "usual in train",
    "places alike",
    "days elsewhere, usual",
    "days elsewhere, odd",
    "looks a place",
)
"""What the network knows of a kind of thing in a place where it was seen; numbers of days and places as logarithms."""
USUAL = 0.03
"""A kind of place is usual for a kind of thing that is there with at least this share in train."""
NAMED, MAIN = 0.15, 0.4
"""The least shares that the network must expect for a place to be named, and for one where the thing usually is."""


@dataclass(frozen=True, slots=True)
class GroupShape:
    """The number of units in each of two hidden layers."""

    width: int


def _sizes(shape: GroupShape, signs: Sequence[str]) -> dict[str, tuple[int, ...]]:
    size, width = len(signs), shape.width
    return {
        **{"middle": (size,), "spread": (size,)},
        **{"first": (width, size), "first_bias": (width,), "second": (width, width), "second_bias": (width,)},
        **{"last": (1, width), "last_bias": (1,)},
    }


FORMAT = WeightsFormat(
    title="housequest-distiller 1",
    listed="signs",
    shape=GroupShape,
    most={"width": 1_024},
    fits=lambda _: True,
    vocabulary=tuple[str, ...],
    words=tuple[str, ...],
    sizes=_sizes,
    refusal="is not a distiller of groups",
    way_out="`housequest train --role distiller` makes one.",
)


def read_distiller(file: Path | None = None) -> dict[str, Floats]:
    """The weights in ``file``, or those that ship. Raises ``ConfigurationError``."""
    file = file or SHIPPED
    _, signs, weights = FORMAT.read(file)
    if signs != SIGNS or not (weights["spread"] > 0).all():
        raise ConfigurationError(f"{shown(str(file), 400)} is for other signs than these; train it anew.")
    return weights


def expected(weights: Mapping[str, Floats], signs: Floats) -> Floats:
    """The share that the network expects for each row of ``signs``."""
    x = (signs - weights["middle"]) / weights["spread"]
    for layer in ("first", "second"):
        x = np.maximum(x @ weights[layer].T + weights[f"{layer}_bias"], 0)
    return 1 / (1 + np.exp(-(x @ weights["last"].T + weights["last_bias"])[:, 0]))


class GroupDistiller:
    """Writes the counts of a home as groups, by the ``weights`` of a network and the ``counts`` of train."""

    def __init__(self, weights: Mapping[str, Floats], counts: Counts) -> None:
        self._weights = weights
        self._train = shares_in_train(counts)

    def groups(self, seen: Mined) -> list[KeptThings]:
        """The groups, one for each place in which something is kept, in the order of the places."""
        pairs = [(one.thing, place.receptacle) for one in seen.locations for place in one.places]
        if not pairs:
            return []
        usually: dict[str, list[str]] = {}
        sometimes: dict[str, list[str]] = {}
        for (thing, place), share in zip(pairs, expected(self._weights, signs_of(seen, self._train)), strict=True):
            if share >= NAMED:
                (usually if share >= MAIN else sometimes).setdefault(place, []).append(thing)
        named = [place for place in seen.looked if place in usually or place in sometimes]
        return [KeptThings(place, tuple(usually.get(place, ())), tuple(sometimes.get(place, ()))) for place in named]

    def rules(self, seen: Mined, origin: Origin) -> Iterator[Rule]:
        """The groups as candidate rules, with all else that was counted."""
        by_place: dict[str, list[tuple[str, PlaceShare]]] = {}
        for one in seen.locations:
            for place in one.places:
                by_place.setdefault(place.receptacle, []).append((one.thing, place))
        for group in self.groups(seen):
            shown_by = [place for thing, place in by_place[group.place] if thing in group.shares]
            steps = tuple(step for place in shown_by for step in place.witnesses)[:WITNESSES]
            yield Rule(
                id=f"kept-in-{group.place.replace(' ', '-')}",
                statement=group.sentence,
                kind="location",
                objects=tuple(group.shares),
                status="candidate",
                origin=origin,
                evidence=Evidence(sum(place.seen for place in shown_by), 0, steps),
                scope="household",
            )
        if seen.looked:
            yield looked_rule(seen.looked, origin)
        yield from (replace(rule, origin=origin) for rule in seen.preconditions)


def shares_in_train(counts: Counts) -> dict[str, dict[str, float]]:
    """The share of each kind of thing in each kind of place, over a training split."""
    return {one.thing: {place.receptacle: place.share for place in one.places} for one in mine_table(counts).locations}


def signs_of(seen: Mined, train: Mapping[str, Mapping[str, float]]) -> Floats:
    """The `SIGNS` of each thing in each place where it was ``seen``, in their order; ``train`` are the shares there."""
    alike, looks = Counter(map(kind, seen.looked)), fmean(seen.looked.values())
    rows = [row for one in seen.locations for row in _rows(one, train.get(one.thing, {}), alike, looks)]
    return np.array(rows, np.float32).reshape(-1, len(SIGNS))


def _rows(one: Location, usual: Mapping[str, float], alike: Mapping[str, int], looks: float) -> Iterator[tuple[float, ...]]:
    shares = sorted((place.share for place in one.places), reverse=True)
    total = sum(shares)
    there = {place.receptacle: usual.get(kind(place.receptacle), 0.0) for place in one.places}
    days = [sum(place.seen for place in one.places if (there[place.receptacle] >= USUAL) == often) for often in (True, False)]
    for place in one.places:
        share, often = there[place.receptacle], there[place.receptacle] >= USUAL
        elsewhere = (days[0] - place.seen * often, days[1] - place.seen * (not often))
        best = shares[0] if place.share < shares[0] else (*shares[1:2], 0.0)[0]
        more, near = place.things - place.seen, alike.get(kind(place.receptacle), 1)
        counted = map(np.log1p, (place.seen, place.looks)), map(np.log1p, elsewhere)
        yield (
            *counted[0],
            place.share,
            np.log1p(more),
            best,
            place.share / total,
            share,
            float(often),
            np.log1p(near),
            *counted[1],
            np.log1p(looks),
        )
