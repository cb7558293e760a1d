"""Perceptions: the truth, the truth made worse by seeded noise, and a detector of the user's."""

from __future__ import annotations

import warnings
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from housequest.agent.alfred.seeing.perception import LOOK_ALIKES, Noisy, Truth, kind_in, make_perception
from housequest.worlds.errors import ConfigurationError, Unsupported
from housequest.worlds.rooms.room import Box, Pose
from tests.agent.alfred.seeing.frames import by_hand, drawn

MUGS = by_hand(("00..", "00..", "..11", "..11"), ("Mug|+01.00|+00.90|-00.10", "Fridge|-02.00|+00.00|+00.00"))


def test_the_truth_is_the_frame() -> None:
    percept = Truth().see(MUGS, 0)
    assert [(one.kind, one.score, int(one.mask.sum())) for one in percept.detections] == [("mug", 1, 4), ("fridge", 1, 4)]
    assert percept.depth is MUGS.depth
    assert percept.kinds == ("fridge", "mug")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("mug 2", "mug"),
        ("Mug|+01.00|+00.90|-00.10", "mug"),
        ("Bread|-01.24|+01.40|-03.20|BreadSliced_1", "breadsliced"),
        ("Sink|+01.00|+00.90|-00.10|SinkBasin", "sinkbasin"),
        ("CD|+01.00|+00.90|-00.10", "cd"),
    ],
)
def test_the_kind_is_read_out_of_a_name(name: str, kind: str) -> None:
    assert kind_in(name) == kind


def test_no_noise_is_the_truth() -> None:
    assert [one.kind for one in Noisy().see(MUGS, 3).detections] == ["mug", "fridge"]
    assert np.array_equal(Noisy().see(MUGS, 3).depth, MUGS.depth)


def test_errors_are_drawn_for_each_thing_and_frame_and_do_not_depend_on_the_others() -> None:
    noisy = Noisy(miss=0.5, confuse=0.5, seed=4)
    alone = replace(MUGS, ids=np.where(MUGS.ids == 1, MUGS.ids, -1))
    both = [[one.kind for one in noisy.see(MUGS, number).detections if one.mask[3, 3]] for number in range(50)]
    assert both == [[one.kind for one in noisy.see(alone, number).detections] for number in range(50)]
    assert len({tuple(one) for one in both}) > 2
    assert both != [[one.kind for one in Noisy(0.5, 0.5, seed=5).see(alone, n).detections] for n in range(50)]


def test_things_are_missed_and_confused_as_often_as_was_asked_for() -> None:
    noisy = Noisy(miss=0.2, confuse=0.3)
    frames = 2000
    seen = [one for number in range(frames) for one in noisy.see(MUGS, number).detections if one.mask[0, 0]]
    assert len(seen) / frames == pytest.approx(0.8, abs=0.03)
    assert sum(one.kind != "mug" for one in seen) / len(seen) == pytest.approx(0.3, abs=0.03)
    assert {one.kind for one in seen} == {"mug", "cup", "vase", "statue"}
    assert all(0 < one.score <= 1 for one in seen)


def test_small_things_are_missed_twice_as_often() -> None:
    rows = ["." * 40] * 39 + ["0" + "." * 39]
    small = by_hand(rows, ("pen 1",))
    missed = sum(not Noisy(miss=0.2).see(small, number).detections for number in range(2000))
    assert missed / 2000 == pytest.approx(0.4, abs=0.03)


def test_what_is_out_of_the_room_stays_infinitely_far_and_warns_of_nothing() -> None:
    far = replace(MUGS, depth=np.full_like(MUGS.depth, np.inf))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf(Noisy(depth=0.1).see(far, 0).depth).all()


def test_a_worse_depth_is_off_by_a_share_and_blurs_edges() -> None:
    frame = drawn(Pose(0, 0, 0, 20), ("box 1", Box(-0.3, 0, 0.9, 0.3, 0.8, 1.3)))
    noisy = Noisy(depth=0.05)
    shares = np.stack([noisy.see(frame, number).depth / frame.depth - 1 for number in range(40)])
    assert 0.03 < shares.std() < 0.08
    assert abs(shares.mean()) < 0.02
    assert np.array_equal(noisy.see(frame, 7).depth, noisy.see(frame, 7).depth)
    jump = int(np.abs(np.diff(frame.depth[:, 45])).argmax())
    near, far = sorted(frame.depth[jump : jump + 2, 45])
    mixed = np.median([noisy.see(frame, number).depth[jump, 45] for number in range(40)])
    assert near + 0.2 * (far - near) < mixed < far - 0.2 * (far - near)


def test_look_alikes_go_both_ways_and_no_kind_is_its_own() -> None:
    for group in LOOK_ALIKES:
        assert len(set(group.split())) == len(group.split()) > 1


def test_perceptions_are_named() -> None:
    assert make_perception("truth") == Truth()
    noisy = make_perception("noisy:miss=0.2, confuse=0.1,depth=0.05,seed=3")
    assert noisy == Noisy(0.2, 0.1, 0.05, 3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("eyes", "known: truth, noisy"),
        ("truth:yes", "known: truth"),
        ("noisy:mis=0.2", "no setting|no option.*miss"),
        ("noisy:miss=2", "must be at most 1"),
        ("noisy:miss", "name=value"),
        ("noisy:=2", "name=value"),
    ],
)
def test_what_is_no_perception_is_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        make_perception(text)


@pytest.mark.parametrize("kind", ["onnx", "maskrcnn"])
def test_a_detector_of_photographs_is_refused_on_boxes(kind: str) -> None:
    with pytest.raises(Unsupported, match=rf"photographs.*boxes.*{kind}.*seeing=truth"):
        make_perception(f"{kind}:objects=mrcnn.pth", pictures="boxes 1")


# ``detector.onnx`` takes red for a mug, surely, and green for an alarm clock, unsurely.
DETECTOR = Path(__file__).with_name("detector.onnx")


def test_a_detector_is_run_on_the_colours_alone() -> None:
    pytest.importorskip("onnxruntime")
    rgb = np.zeros((4, 4, 3), np.uint8)
    rgb[1, 2], rgb[3, 3] = (255, 0, 0), (0, 255, 0)
    perception = make_perception(f"onnx:objects={DETECTOR}", pictures="ai2thor 5.0.0")
    percept = perception.see(replace(MUGS, rgb=rgb), 0)
    assert [(one.kind, np.argwhere(one.mask).tolist()) for one in percept.detections] == [("mug", [[1, 2]])]
    assert percept.depth is MUGS.depth


def test_what_is_no_detector_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"objects=FILE"):
        make_perception("onnx:thing=x", pictures="thor")
    pytest.importorskip("onnxruntime")
    broken = tmp_path / "broken.onnx"
    for content in (None, b"", b"no network"):
        if content is not None:
            broken.write_bytes(content)
        with pytest.raises(ConfigurationError, match="cannot be loaded as a detector"):
            make_perception(f"onnx:receptacles={broken}", pictures="thor")


@pytest.mark.parametrize(("kind", "module", "extra"), [("onnx", "onnxruntime", "detect"), ("maskrcnn", "torch", "maskrcnn")])
def test_a_detector_without_its_library_says_what_to_install(kind: str, module: str, extra: str) -> None:
    if find_spec(module) is not None:
        pytest.skip(f"{module} is installed")
    with pytest.raises(ConfigurationError, match=rf"housequest\[{extra}\]"):
        make_perception(f"{kind}:objects={DETECTOR}", pictures="thor")
