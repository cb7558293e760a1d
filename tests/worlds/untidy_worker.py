"""A worker that leaves a temporary file and a process behind, and ends at once if asked to."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Any

from housequest.worlds.workers import Handler, serve


def start(_: Any) -> tuple[tuple[str, int], Handler]:
    _, name = tempfile.mkstemp()
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    return (name, child.pid), lambda request, _: os._exit(3) if request == "end" else request


if __name__ == "__main__":
    serve(start)
