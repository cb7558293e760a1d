"""The process in which the real client of AI2-THOR lives: it takes actions and answers with metadata and images.

Whatever the client or its player does, only this process ends. It watches the player, because the client waits for one that
has died until its time is up.
"""

from __future__ import annotations

import base64
import importlib
import os
import sys
import threading
from collections.abc import Mapping
from time import sleep
from typing import Any, NoReturn

from housequest.worlds.alfred.simulator.thor import MAJOR
from housequest.worlds.workers import Handler, Refused, serve

_POLL = 0.2


def start(settings: Mapping[str, Any]) -> tuple[dict[str, Any], Handler]:
    """Start the client and its player."""
    try:
        ai2thor: Any = importlib.import_module("ai2thor")
        controllers: Any = importlib.import_module("ai2thor.controller")
    except ImportError as error:
        raise Refused(
            f"the package ai2thor cannot be imported ({error})", "Install it: pip install 'housequest[thor]'.", fatal=True
        ) from error
    version = str(ai2thor.__version__)
    if not version.startswith(MAJOR):
        raise Refused(f"this is ai2thor {version}, not {MAJOR}x", "Install it: pip install 'housequest[thor]'.", fatal=True)
    width, height = settings["size"]
    starting = threading.Event()
    # On macOS Python has it from 3.13 on; without it, one waits for a player that has ended until the time is up.
    if hasattr(os, "waitid"):
        threading.Thread(target=_watch_start, args=(starting,), daemon=True).start()
    given = {"local_executable_path": settings["player"]} if settings["player"] else {}
    controller: Any = controllers.Controller(
        **given,
        scene=settings["scene"],
        width=width,
        height=height,
        fieldOfView=settings["field"],
        gridSize=0.25,
        visibilityDistance=1.5,
        renderDepthImage=True,
        renderInstanceSegmentation=True,
        x_display=os.environ.get("DISPLAY") or ":0",
        server_timeout=settings["seconds"],
        server_start_timeout=settings["starting"],
    )
    starting.set()
    threading.Thread(target=_watch, args=(controller.server.unity_proc,), daemon=True).start()

    def handle(request: Mapping[str, Any], cancelled: threading.Event) -> dict[str, Any]:
        del cancelled
        if "scene" in request:
            return _said(controller.reset(request["scene"]))
        try:
            return _said(controller.step(dict(request)))
        except ValueError as error:
            raise Refused(str(error), "Ask for an action that this build has.") from error
        except RuntimeError as error:
            # The client says no more than at which action it was.
            raise RuntimeError(f"its player does not answer as AI2-THOR 5 does: {error.__context__!r}") from error

    build = getattr(getattr(controller, "_build", None), "commit_id", None) or "a local player"
    return {"version": f"ai2thor {version} ({build})", "first": _said(controller.last_event)}, handle


def _watch_start(started: threading.Event) -> None:
    """End this process if the player ends before it has said anything, for which the client waits until its time is up."""
    ended: int | None = None
    while not started.wait(_POLL):
        try:
            child = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # there is no player yet
            continue
        # What the client itself runs and waits for is gone by the next look.
        if child is not None and child.si_pid == ended:
            _end(-child.si_status if child.si_code in (os.CLD_KILLED, os.CLD_DUMPED) else child.si_status)
        ended = child.si_pid if child is not None else None


def _watch(player: Any) -> None:
    """End this process once the player has ended."""
    while player.poll() is None:
        sleep(_POLL)
    _end(player.poll())


def _end(status: int) -> NoReturn:
    print(f"the player ended with status {status}", file=sys.stderr, flush=True)
    os._exit(1)


def _said(event: Any) -> dict[str, Any]:
    """An event as JSON; images as base64, the top row first."""
    images = {
        name: base64.b64encode(image.copy(order="C").tobytes()).decode()
        for name, image in (
            ("rgb", event.frame),
            ("depth", event.depth_frame),
            ("ids", event.instance_segmentation_frame),
        )
        if image is not None
    }
    return {"metadata": event.metadata, "images": images}


if __name__ == "__main__":
    serve(start)
