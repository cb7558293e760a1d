"""One trial: a folder of its own, chance that its name decides, and what it found."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from scripts.torture.endpoint import Endpoint
from scripts.torture.program import KEY, Outcome, Program
from scripts.torture.whole import Fault, Found, Golden, Play, compare, compare_paid, content, read_report

FINISHED, ERRED, REFUSED, STOPPED = 0, 1, 2, 130
"""The classes in which the documents say that a command ends."""


@dataclass
class Trial:
    """What one attack works with. ``number`` chooses the variant, ``chance`` the rest."""

    kind: str
    number: int
    chance: Random
    program: Program
    goldens: Mapping[Play, Golden]
    found: list[Found] = field(default_factory=list[Found])
    about: str = ""
    """What this trial does, in a few words."""

    @property
    def run(self) -> Path:
        """The folder of the attacked run."""
        return self.program.folder / "run"

    def fault(self, fault: Fault, note: str) -> None:
        self.found.append((fault, note))

    def faults(self, found: Iterable[Found]) -> None:
        self.found.extend(found)

    def expect(self, done: Outcome, *classes: int, naming: str = "") -> bool:
        """Note whether the command ended in none of ``classes``, or refused and stopped without ``naming`` what for."""
        wanted = " or ".join(map(str, classes))
        if done.code is None:
            self.fault("hung", f"{done.line}: {done.said}")
        elif done.code not in classes:
            self.fault("wrong class", f"{done.code} instead of {wanted}: {done.line}: {done.said}")
        elif "Traceback" in done.err:
            self.fault("wrong class", f"a traceback: {done.line}: {done.said}")
        elif done.code in {REFUSED, STOPPED} and naming not in done.err:
            self.fault("wrong class", f"{done.code} does not name {naming!r}: {done.line}: {done.said}")
        else:
            return True
        return False

    async def finish(self, play: Play, workers: int, endpoint: Endpoint | None = None, *more: str) -> bool:
        """With the cause removed, the same command runs to its end, and all is as if nothing had been."""
        done = await self.program.run((*play.arguments("run", workers, endpoint), *more))
        return self.check(play, done)

    def check(self, play: Play, done: Outcome) -> bool:
        """The command finished; its report and folder are those of an undisturbed run."""
        golden = self.goldens[play]
        finished = self.expect(done, FINISHED)
        if finished and read_report(done.out) != golden.report:
            self.fault("miscounted", f"the report differs after {done.line}")
        self.faults(compare(golden, self.run))
        return finished

    def check_paid(self, play: Play, endpoint: Endpoint, allowed: int) -> None:
        self.faults(compare_paid(self.goldens[play], endpoint, allowed))

    async def read(self, play: Play, *, whole: bool | None) -> None:
        """A report is right, or says that something is wrong; and so does `verify`. ``whole``: None where that is open."""
        golden = self.goldens[play].report
        done = await self.program.run(("report", "run", "--json"))
        if self.expect(done, FINISHED, REFUSED) and done.code == FINISHED:
            report = read_report(done.out)
            if report is None or (report != golden and not _says_so(report, golden, done.err)):
                self.fault("miscounted", f"another report, and no word about it: {_figures(report)}")
        await self.verify(whole=whole)

    async def verify(self, *, whole: bool | None) -> None:
        """`verify` says whether the run is ``whole``."""
        done = await self.program.run(("verify", "run"))
        self.expect(done, *((FINISHED, ERRED, REFUSED) if whole is None else (FINISHED,) if whole else (ERRED, REFUSED)))

    def copy(self, folder: Path) -> None:
        """Copy a run as the run to attack."""
        shutil.copytree(folder, self.run, symlinks=True)

    @asynccontextmanager
    async def endpoint(self) -> AsyncGenerator[Endpoint]:
        """An honest endpoint with a key; no file holds that key afterwards."""
        endpoint = Endpoint()
        await endpoint.open()
        self.program.configure(endpoint.port)
        try:
            yield endpoint
        finally:
            await endpoint.close()
        if endpoint.strayed:
            self.fault("outside", f"{endpoint.strayed} calls followed a redirect")
        for file in self.program.folder.rglob("*"):
            before, key, _ = content(file).partition(KEY.encode())
            if key:
                self.fault("outside", f"{file.relative_to(self.program.folder)} holds the key after {before[-40:]!r}")


def _says_so(report: Mapping[str, Any], golden: Mapping[str, Any], err: str) -> bool:
    """Whether a report of less than all counts nothing wrongly, and says that something is missing."""
    outcomes = ("won", "lost", "errors")
    less = all(report.get(name, 0) <= golden[name] for name in outcomes)
    missing = golden["episodes"] - sum(report.get(name, 0) for name in outcomes)
    return less and missing > 0 and (report.get("unfinished") == missing or "verify" in err)


def _figures(report: Mapping[str, Any] | None) -> str:
    return "no JSON" if report is None else ", ".join(f"{name} {report.get(name)}" for name in ("won", "lost", "unfinished"))
