"""Peak memory of a process."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak(process: int | None = None) -> int:
    """Peak memory of this process in KiB, or on Linux of another ``process``.

    ``getrusage`` would include the parent process before exec. Raises ``FileNotFoundError`` for another one elsewhere.
    """
    status = Path(f"/proc/{process or 'self'}/status")
    if process is None and not status.exists():
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most >> 10 if sys.platform == "darwin" else most
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1])
