"""What an agent makes of a frame: how far everything is, and which things it sees where (OPEx, section 3).

`Truth` has the simulator's own depth and masks (the paper's OPEx-P), `Noisy` these made worse;
`housequest.agent.alfred.seeing.detector` has detectors of the user's, and makes each perception by its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Protocol

from housequest.worlds.options import option
from housequest.worlds.rooms.render import Frame

if TYPE_CHECKING:
    from numpy import bool_, float32
    from numpy.typing import NDArray

SIZE = (150, 150)
"""Columns and rows of the frames: half of ALFRED's each way, at a quarter of the cost."""
SMALL = 100 / 90_000
"""Things that fill less of the picture than this are missed twice as often: 100 pixels of 300 x 300."""
MOST_MISSED = 0.95

LOOK_ALIKES = (
    "apple tomato potato",
    "mug cup vase statue",
    "bowl plate pot pan",
    "knife butterknife fork spoon spatula ladle",
    "pen pencil keychain creditcard watch",
    "saltshaker peppershaker candle",
    "soapbottle spraybottle winebottle glassbottle",
    "book newspaper laptop box tissuebox",
    "cd creditcard remotecontrol cellphone",
    "cloth handtowel towel dishsponge",
    "toiletpaper papertowelroll soapbar",
    "bread egg lettuce",
    "applesliced tomatosliced potatosliced breadsliced lettucesliced",
    "cabinet drawer dresser shelf",
    "fridge safe microwave",
    "sidetable coffeetable diningtable desk countertop",
    "sofa armchair bed ottoman",
    "sink sinkbasin bathtubbasin bathtub",
    "desklamp floorlamp houseplant",
)
"""Kinds that are taken for one another; our own guess, not counted from any detector."""

BLEED = 0.25
"""Where depth jumps by more than this, in metres, a worse depth is a mixture of both sides."""
_COARSE = 8


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """Something seen: its kind in lower case without spaces, how sure the perception is (0 to 1), and its pixels."""

    kind: str
    score: float
    mask: NDArray[bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Percept:
    """A frame as it was perceived: depth in metres along the camera's axis, and what was detected."""

    depth: NDArray[float32]
    detections: tuple[Detection, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds in it, sorted."""
        return tuple(sorted({one.kind for one in self.detections}))


class Perception(Protocol):
    """Makes a `Percept` of a frame; only perceptions that say so in their name read the frame's depth and owners of pixels."""

    @property
    def name(self) -> str:
        """As it is written in settings and records."""
        ...

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the frames that it wants."""
        ...

    def see(self, frame: Frame, number: int) -> Percept:
        """Perceive the frame with this ``number`` of an episode; equal frames with equal numbers are perceived alike."""
        ...


@dataclass(frozen=True, slots=True)
class Truth:
    """Perfect perception: the simulator's own masks and depth."""

    name: str = "truth"
    size: tuple[int, int] = SIZE

    def see(self, frame: Frame, number: int) -> Percept:
        del number
        return Percept(frame.depth, tuple(Detection(kind_in(name), 1.0, mask) for name, mask in _masks(frame)))


@dataclass(frozen=True, slots=True)
class Noise:
    """How much worse than the truth a perception is."""

    miss: float = option(0.0, "the probability that a thing is not seen in a frame; twice that if it is small", most=1)
    confuse: float = option(0.0, "the probability that a thing is taken for one of another kind", most=1)
    depth: float = option(0.0, "the standard deviation of depth, as a share of it; edges get blurred", most=1)
    seed: int = option(0, "draws the errors")


@dataclass(frozen=True, slots=True)
class Noisy:
    """The truth made worse by `Noise`, drawn anew for each thing in each frame.

    Everything is drawn by seed, number of the frame and thing, so that it does not matter what else is in the picture.
    """

    noise: Noise
    size: tuple[int, int] = SIZE

    @property
    def name(self) -> str:
        noise = self.noise
        return f"noisy:miss={noise.miss:g},confuse={noise.confuse:g},depth={noise.depth:g},seed={noise.seed}"

    def see(self, frame: Frame, number: int) -> Percept:
        found: list[Detection] = []
        for name, mask in _masks(frame):
            draw = Random(f"{self.noise.seed}/{number}/{name}")
            missed, confused, sure = draw.random(), draw.random(), draw.random()
            small = int(mask.sum()) < SMALL * mask.size
            if missed < (max(self.noise.miss, min(MOST_MISSED, 2 * self.noise.miss)) if small else self.noise.miss):
                continue
            kind = kind_in(name)
            others = _look_alikes(kind)
            if others and confused < self.noise.confuse:
                found.append(Detection(draw.choice(others), 0.4 + 0.5 * sure, mask))
            else:
                found.append(Detection(kind, 0.5 + 0.5 * sure, mask))
        return Percept(self._depth(frame.depth, number), tuple(found))

    def _depth(self, depth: NDArray[float32], number: int) -> NDArray[float32]:
        if not self.noise.depth:
            return depth
        import numpy as np

        # One factor for each corner of a coarse grid, and what lies between in proportion: errors of depth are not grain.
        draw = Random(f"{self.noise.seed}/{number}/depth")
        corners = np.array(
            [[1 + self.noise.depth * draw.gauss() for _ in range(_COARSE + 1)] for _ in range(_COARSE + 1)], np.float32
        )
        along, across = (np.linspace(0, _COARSE, size, endpoint=False, dtype=np.float32) for size in depth.shape)
        rows, columns = along.astype(int), across.astype(int)
        down, right = (along - rows)[:, None], (across - columns)[None, :]
        above = corners[rows][:, columns] * (1 - right) + corners[rows][:, columns + 1] * right
        below = corners[rows + 1][:, columns] * (1 - right) + corners[rows + 1][:, columns + 1] * right
        worse = np.maximum(depth * (above * (1 - down) + below * down), np.float32(0.05))
        for here, there in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
            # Beyond the room, everything is infinitely far, and no edge.
            with np.errstate(invalid="ignore"):
                jumps = np.abs(depth[here] - depth[there]) > BLEED
            between = (worse[here] + worse[there]) / 2
            worse[here] = np.where(jumps, between, worse[here])
            worse[there] = np.where(jumps, between, worse[there])
        worse.flags.writeable = False
        return worse


def kind_in(name: str) -> str:
    """The kind in a name such as ``mug 2`` or an id such as ``Apple|+01.0|+00.9|-00.2|AppleSliced_1``, in lower case."""
    parts = name.split("|")
    word = parts[-1] if len(parts) > 1 and not parts[-1].lstrip("+-").replace(".", "").isdigit() else parts[0]
    return word.partition("_")[0].rstrip("0123456789 ").replace(" ", "").lower()


def _masks(frame: Frame) -> Iterator[tuple[str, NDArray[bool_]]]:
    """The things in the picture with their pixels, in the order of the frame's names."""
    import numpy as np

    for number in np.unique(frame.ids):
        if number >= 0:
            yield frame.names[int(number)], frame.ids == number


def _look_alikes(kind: str) -> tuple[str, ...]:
    return tuple(other for group in map(str.split, LOOK_ALIKES) if kind in group for other in group if other != kind)
