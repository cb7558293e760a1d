"""Detectors of the user's: networks with the classes of ALFWorld's detectors, in a file for each list of classes.

`housequest.agent.alfred.seeing.networks` reads the files: Mask R-CNNs of torchvision, or these exported to ONNX. No trained
detector was available to try it with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from housequest.agent.alfred.seeing.perception import Detection, Percept
from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.rooms.frame import Frame

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

# The orders in which ALFWorld's detectors number classes from 1 (alfworld 0.4, gen/constants.py); 0 is background.
OBJECTS = (
    "alarmclock apple applesliced baseballbat basketball book bowl box bread breadsliced butterknife cd candle cellphone cloth "
    "creditcard cup desklamp dishsponge egg faucet floorlamp fork glassbottle handtowel houseplant kettle keychain knife ladle "
    "laptop laundryhamperlid lettuce lettucesliced lightswitch mug newspaper pan papertowel papertowelroll pen pencil "
    "peppershaker pillow plate plunger pot potato potatosliced remotecontrol saltshaker scrubbrush showerdoor soapbar "
    "soapbottle spatula spoon spraybottle statue stoveknob teddybear television tennisracket tissuebox toiletpaper "
    "toiletpaperroll tomato tomatosliced towel vase watch wateringcan winebottle"
)
RECEPTACLES = (
    "armchair bathtub bathtubbasin bed cabinet cart coffeemachine coffeetable countertop desk diningtable drawer dresser "
    "fridge garbagecan handtowelholder laundryhamper microwave ottoman paintinghanger safe shelf sidetable sink sinkbasin sofa "
    "stoveburner tvstand toaster toilet toiletpaperhanger towelholder"
)
CLASSES: dict[str, tuple[str, ...]] = {"objects": tuple(OBJECTS.split()), "receptacles": tuple(RECEPTACLES.split())}
LEAST_SCORE = 0.5
LARGEST = 2 << 30
PICTURE = (300, 300)
"""Columns and rows of ALFRED's pictures, on which ALFWorld's detectors were trained."""

Network = Callable[["NDArray[float32]"], "tuple[NDArray[Any], NDArray[Any], NDArray[Any]]"]
"""Labels, scores and masks, (number, 1, height, width) from 0 to 1, of a picture of 3 x height x width from 0 to 1."""
Reader = Callable[[Path, int], Network]
"""Reads a network with so many classes from a file. Raises ``ConfigurationError``, or anything at all for a broken file."""


@dataclass(frozen=True, slots=True)
class DetectorPerception:
    """Detections by one or two networks, those of objects and those of receptacles. Depth stays the simulator's own."""

    name: str
    networks: tuple[tuple[tuple[str, ...], Network], ...]
    size: tuple[int, int] = PICTURE

    @classmethod
    def load(cls, kind: str, files: Mapping[str, str], read: Reader) -> DetectorPerception:
        """Load a network of this ``kind`` for each list of classes in ``files``. Raises ``ConfigurationError``."""
        unknown = [one for one in files if one not in CLASSES]
        if unknown or not files:
            hint = nearest(unknown[0], tuple(CLASSES)) if unknown else ""
            raise ConfigurationError(f"{kind!r} takes objects=FILE and receptacles=FILE, by which classes the file has.{hint}")
        networks = tuple((CLASSES[which], _network(file, len(CLASSES[which]), read)) for which, file in files.items())
        return cls(f"{kind}:" + ",".join(f"{which}={Path(file).name}" for which, file in files.items()), networks)

    def see(self, frame: Frame, number: int) -> Percept:
        del number
        import numpy as np

        picture = np.ascontiguousarray(frame.rgb.transpose(2, 0, 1), np.float32) / np.float32(255)
        found: list[Detection] = []
        for classes, network in self.networks:
            labels, scores, masks = network(picture)
            label: int
            for label, score, mask in zip(labels.tolist(), scores.tolist(), masks, strict=True):
                if score >= LEAST_SCORE and 1 <= label <= len(classes):
                    found.append(Detection(classes[label - 1], float(score), mask.reshape(mask.shape[-2:]) >= LEAST_SCORE))
        return Percept(frame.depth, tuple(found))


def _network(file: str, classes: int, read: Reader) -> Network:
    path = Path(file).expanduser()
    try:
        if path.stat().st_size > LARGEST:
            raise ConfigurationError(f"{shown(file, 400)} is too large for a detector.")
        return read(path, classes)
    except ConfigurationError:
        raise
    except Exception as error:  # the libraries' own errors have no class in common
        raise ConfigurationError(f"{shown(file, 400)} cannot be loaded as a detector: {shown(str(error))}") from error
