"""A program in the style of ALFRED's evaluation: an env of its own over AI2-THOR 2.1's controller, steps by masks, metrics.

Its arguments are a scene, a file of restored poses with actions, and the kind that has to lie in another one at the end.
"""

import json
import sys
from collections import Counter

import numpy as np
from ai2thor.controller import Controller
from ai2thor.server import Event

STEP, TILT = 0.25, 15


class RoomEnv(Controller):
    """Restores scenes, looks by teleporting, and counts what was treated, as such envs do."""

    def __init__(self, width=300, height=300):
        super().__init__(quality="MediumCloseFitShadows")
        self.local_executable_path = None
        self.start(x_display="0", player_screen_height=height, player_screen_width=width)
        self.cooled = set()

    def restore(self, scene, poses, toggles, start):
        super().reset(scene)
        super().step(
            dict(
                action="Initialize",
                gridSize=STEP,
                cameraY=0.75,
                renderImage=True,
                renderDepthImage=True,
                renderClassImage=True,
                renderObjectImage=True,
                visibility_distance=1.5,
                makeAgentsVisible=False,
            )
        )
        super().step(dict(action="SetObjectToggles", objectToggles=toggles))
        super().step(dict(action="SetStateOfAllObjects", StateChange="CanBeDirty", forceAction=True))
        super().step(dict(action="SetObjectPoses", objectPoses=poses))
        self.told("restored", self.last_event.metadata["lastActionSuccess"], self.last_event.metadata["errorMessage"])
        return super().step(start)

    def told(self, *words):
        print("told:", *words)

    def look(self, by):
        agent = self.last_event.metadata["agent"]
        return super().step(
            dict(
                action="TeleportFull",
                rotation=np.round(agent["rotation"]["y"], 3),
                horizon=np.round(agent["cameraHorizon"] + by, 3),
                tempRenderChange=True,
                renderNormalsImage=False,
                renderImage=True,
                **agent["position"],
            )
        )

    def act(self, name, mask=None):
        """One action; a mask means the object whose pixels it covers best."""
        if name.startswith("Look"):
            return self.look(TILT if name == "LookDown" else -TILT)
        if mask is None:
            return super().step(dict(action=name, forceAction=True))
        painted, named = self.last_event.instance_segmentation_frame, self.last_event.color_to_object_id
        counted = Counter(map(tuple, painted[mask].tolist()))
        target = next(named[colour] for colour, _ in counted.most_common() if colour in named)
        asked = dict(action=name, objectId=target, forceAction=name != "PickupObject")
        if name == "PutObject":
            held = self.last_event.metadata["inventoryObjects"][0]["objectId"]
            asked.update(objectId=held, receptacleObjectId=target, placeStationary=True)
        if name == "OpenObject":
            asked = dict(action=name, objectId=target, moveMagnitude=1.0)
        event = super().step(asked)
        if event.metadata["lastActionSuccess"] and name == "CloseObject" and "Fridge" in target:
            self.cooled |= set(event.get_object(target)["receptacleObjectIds"])
        return event


def main():
    scene, file, thing, place = sys.argv[1:5]
    given = json.loads(open(file).read())
    env = RoomEnv()
    event = env.restore(scene, given["poses"], given["toggles"], given["start"])
    assert isinstance(event, Event) and event.frame.shape == (300, 300, 3) and event.depth_frame.max() <= 20
    env.told("begins", event.pose_discrete, sorted(event.class_masks))
    failed = 0
    for name, wanted in given["actions"]:
        mask = None if wanted is None else env.last_event.instance_masks[wanted]
        event = env.act(name, mask)
        failed += not event.metadata["lastActionSuccess"]
        env.told(name, event.metadata["lastAction"], event.metadata["errorMessage"])
    around = [one for one in event.objects_by_type(place) if one["receptacle"]]
    held = {id for one in around for id in one["receptacleObjectIds"]}
    env.told("won", any(id.startswith(f"{thing}|") for id in held), "failed", failed, "cooled", len(env.cooled))
    spots = env.step("GetReachablePositions").metadata["reachablePositions"]
    env.told("reachable", len(spots) > 20, env.step(dict(action="InitialRandomSpawn")).metadata["errorMessage"])
    env.stop()


main()
