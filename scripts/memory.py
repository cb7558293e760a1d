"""Peak memory of this process."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak() -> int:
    """Peak memory in KiB. ``getrusage`` would include the parent process before exec."""
    status = Path("/proc/self/status")
    if not status.exists():
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most >> 10 if sys.platform == "darwin" else most
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1])
