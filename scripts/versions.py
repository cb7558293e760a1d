"""Writes what lets readers of the published documentation choose a version: ``python -m scripts.versions FOLDER VERSION...``.

Each version's pages are in a folder of its name. ``versions.json`` is what the theme's menu of versions reads, and
``index.html`` leads to the newest.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

_NAME = re.compile(r"v(\d+)\.(\d+)\.(\d+)([A-Za-z0-9.]*)", re.ASCII)


def newest_first(names: Iterable[str]) -> list[str]:
    """Those of ``names`` that are versions such as v1.2.3; those with an ending, such as v1.3.0rc1, come after all others."""
    found = [match for name in set(names) if (match := _NAME.fullmatch(name))]
    return [each[0] for each in sorted(found, key=_rank, reverse=True)]


def _rank(name: re.Match[str]) -> tuple[bool, tuple[int, ...], str]:
    return not name[4], tuple(map(int, name.groups()[:3])), name[4]


def write(folder: Path, names: Iterable[str]) -> None:
    """Write the two files for these versions into ``folder``. Raises ``ValueError`` if there is no version among the names."""
    versions = newest_first(names)
    if not versions:
        raise ValueError("There is no version to list; give names such as v1.2.3.")
    listed = [{"version": name, "title": name, "aliases": ["latest"] * (name == versions[0])} for name in versions]
    (folder / "versions.json").write_text(json.dumps(listed, indent=2) + "\n", "utf-8")
    links = "\n".join(f'<li><a href="{name}/">{name}</a></li>' for name in versions)
    page = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>housequest: documentation</title>
<meta http-equiv="refresh" content="0; url={versions[0]}/">
<p>The documentation of housequest, by version:</p>
<ul>
{links}
</ul>
</html>
"""
    (folder / "index.html").write_text(page, "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), sys.argv[2:])
