"""The installed command in a process group of its own, with its own folders and a limit to every wait."""

from __future__ import annotations

import asyncio
import os
import resource
import shlex
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

KEY_VARIABLE = "TORTURE_KEY"
KEY = 'sk-torture/0123456789"abcdefgh'
"""Holds what JSON and addresses escape."""

PATIENCE = 120.0
"""Seconds after which a command that nothing holds up has hung, on a machine that is busy."""

MEMORY = 4 << 30
"""Bytes of addresses that a command may have: what reads without end fails before the machine does."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended. ``code`` is None where it had to be ended because it hung, and negative for a signal."""

    line: str
    code: int | None
    out: str
    err: str

    @property
    def said(self) -> str:
        """Its last words."""
        lines = [line for line in self.err.splitlines() if line.strip()]
        return " / ".join(lines[-2:])[:300]


class Process:
    """One running command."""

    def __init__(self, process: asyncio.subprocess.Process, line: str, out: Path, err: Path) -> None:
        self._process, self._line, self._out, self._err = process, line, out, err

    @property
    def over(self) -> bool:
        return self._process.returncode is not None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def heard(self) -> str:
        """What it has said on standard error so far."""
        return self._err.read_text("utf-8", "replace")

    @property
    def memory(self) -> int:
        """Bytes of it that are in memory; 0 where that is not known."""
        told = Path(f"/proc/{self._process.pid}/statm")
        return int(told.read_text().split()[1]) * resource.getpagesize() if told.exists() else 0

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the whole process group, as a terminal does."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def kill(self) -> None:
        """Kill the command alone, and none of the processes that it started."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def outcome(self, patience: float = PATIENCE) -> Outcome:
        """Wait for its end; after ``patience`` seconds it is killed."""
        code: int | None
        try:
            code = await asyncio.wait_for(self._process.wait(), patience)
        except TimeoutError:
            code = None
        finally:
            # Also on the way out of a trial that was given up, and whatever it left behind.
            self.send(signal.SIGKILL)
            await self._process.wait()
        out, err = (file.read_text("utf-8", "replace") for file in (self._out, self._err))
        return Outcome(self._line, code, out, err)


@dataclass(frozen=True)
class Program:
    """The command as one trial runs it: in ``folder``, with configuration and state of its own below it."""

    command: Path
    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def configure(self, port: int) -> None:
        """Give the endpoint at ``port`` a key, in the user's own configuration."""
        file = self.home / "config" / "housequest.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'[endpoints."127.0.0.1:{port}"]\nkey_env = "{KEY_VARIABLE}"\n')

    async def start(
        self, arguments: Sequence[str], before: Callable[[], None] | None = None, terminal: int | None = None
    ) -> Process:
        """Start the command with ``arguments``; ``before`` is called in the new process, whose memory is bounded.

        Its input and output are the handle ``terminal``, if there is one.
        """

        def prepare() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            # A job in the background would inherit that it is ignored.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            if before is not None:
                before()

        log = self.folder / "said"
        log.mkdir(parents=True, exist_ok=True)
        number = len(list(log.glob("*.out")))
        out, err = log / f"{number:02d}.out", log / f"{number:02d}.err"
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "LANG": "C.UTF-8",
            "HOME": str(self.folder),
            "HOUSEQUEST_HOME": str(self.home),
            "ALFWORLD_DATA": str(self.folder / "games"),
            KEY_VARIABLE: KEY,
            **({} if terminal is None else {"TERM": "xterm-256color", "COLORTERM": "truecolor"}),
        }
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                str(self.command),
                *arguments,
                cwd=self.folder,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL if terminal is None else terminal,
                stdout=stdout if terminal is None else terminal,
                stderr=stderr if terminal is None else terminal,
                start_new_session=True,
                preexec_fn=prepare,
            )
        return Process(process, shlex.join(["housequest", *arguments]), out, err)

    async def run(
        self, arguments: Sequence[str], patience: float = PATIENCE, before: Callable[[], None] | None = None
    ) -> Outcome:
        """Run the command to its end."""
        process = await self.start(arguments, before)
        return await process.outcome(patience)
