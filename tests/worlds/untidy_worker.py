"""A worker that leaves a temporary file behind, and ends at once if asked to."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from housequest.worlds.workers import Handler, serve


def start(_: Any) -> tuple[str, Handler]:
    _, name = tempfile.mkstemp()
    return name, lambda request, _: os._exit(3) if request == "end" else request


if __name__ == "__main__":
    serve(start)
