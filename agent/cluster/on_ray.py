"""Players as actors of Ray, and work as its tasks, on this machine's processors or on a cluster that is there."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from housequest.agent.cluster.driver import PlayerCluster
from housequest.agent.cluster.messages import FromPlayer, Order, PlayerLost, RemoteHandle, ToPlayer
from housequest.agent.cluster.player import RemotePlayer
from housequest.agent.processes import MOST_LOST, Pool
from housequest.worlds.errors import ConfigurationError, HousequestError, shown

_LONGEST = 200
"""Characters of Ray's reason for a loss that are told."""


def _ray() -> Any:
    return import_module("ray")  # takes a second


class RayCluster(PlayerCluster, Pool):
    """The cluster at ``address``; without one, the cluster that Ray finds, or else this machine."""

    def __init__(self, address: str | None = None) -> None:
        self._address = address
        self._order: Any = None
        self._work: Any = None
        self._joined = False

    async def open(self, order: Order) -> int:
        room = self._join()
        self._order = _ray().put(order)
        return room

    def pool(self) -> Pool:
        return self

    def begin(self, work: Callable[..., Any]) -> int:
        room = self._join()
        self._work = _ray().remote(work).options(num_cpus=1, max_retries=MOST_LOST - 1)
        return room

    def submit(self, *given: Any) -> Callable[[], Any]:
        return partial(_result, self._work.remote(*given))

    def _join(self) -> int:
        """Join the cluster; how many processors it has."""
        # Ray reports its use to its makers otherwise.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray = _ray()
        if not ray.is_initialized():
            try:
                ray.init(self._address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
            except (ConnectionError, RuntimeError, ValueError, AssertionError) as error:
                where = f"at {shown(self._address)}" if self._address else "here"
                raise ConfigurationError(f"--cluster: Ray cannot be reached {where}: {_said(error)}") from None
            self._joined = True
        return int(ray.cluster_resources().get("CPU", 0))

    def start(self) -> RemoteHandle:
        return _RayHandle(_ray().remote(RemotePlayer).options(num_cpus=1, max_restarts=0).remote(self._order))

    def close(self) -> None:
        if self._joined:
            _ray().shutdown()
            self._joined = False


class _RayHandle(RemoteHandle):
    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def tell(self, messages: Sequence[ToPlayer]) -> None:
        await _kept(self._actor.tell.remote(messages))

    async def hear(self) -> Sequence[FromPlayer]:
        return await _kept(self._actor.hear.remote())

    def end(self) -> None:
        _ray().kill(self._actor)


async def _kept(reference: Any) -> Any:
    """What ``reference`` comes to. Raises ``PlayerLost`` where Ray cannot bring it any more, and the player's own errors."""
    errors: Any = import_module("ray.exceptions")
    try:
        return await reference
    except errors.RayTaskError:
        raise
    except errors.RayError as error:
        raise PlayerLost(_said(error)) from error


def _result(reference: Any) -> Any:
    """What ``reference`` comes to; Ray has tried it anew where a process or a machine died."""
    errors: Any = import_module("ray.exceptions")
    try:
        return _ray().get(reference)
    except errors.RayTaskError as error:
        raise error.cause from None
    except errors.RayError as error:
        raise HousequestError(f"{MOST_LOST} processes were lost over the same work, the last so: {_said(error)}.") from error


def _said(error: Exception) -> str:
    """The first sentence of an error of Ray, whose texts have many lines."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:_LONGEST].rstrip(".")
