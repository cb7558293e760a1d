"""The names that a server goes by, and the pages that may ask it: `mcp`, `env-server` and `serve` ask here on every route.

A page of another site can make a browser send requests to this machine, and can read the answers once its own name means this
machine (DNS rebinding). A browser cannot be made to name another host or origin than the page's, so these two headers tell.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from housequest.worlds.errors import ConfigurationError, shown

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s\[\]:@/?#\\]+)(:\d{1,5})?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OwnNames:
    """The names of a server that listens on ``host``. ``url`` is where others find it, if not there. Raises
    ``ConfigurationError`` if it is no address."""

    host: str
    url: str | None = None

    def __post_init__(self) -> None:
        if self.url is None:
            return
        try:
            found = urlsplit(self.url)
            known = found.scheme in {"http", "https"} and found.hostname and (found.port or True)
        except ValueError:
            known = False
        if not known:
            raise ConfigurationError(
                f"--public-url: {shown(self.url)} is not an address; give one like https://play.example.org."
            )

    def address(self, port: int) -> str:
        """The address to ask, without a path."""
        return (self.url or f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{port}").rstrip("/")

    def refusal(self, hosts: Sequence[str], origins: Sequence[str]) -> tuple[int, str] | None:
        """The status and the text that refuse a request with these headers Host and Origin; None if it is welcome.

        The host must be a name of this server, or an address, which is nobody else's name. A program sends no origin; a page
        must be this server's own.
        """
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return 421, (
                "This server does not go by that name. Use the address that it printed; `serve` and `env-server` take another "
                "name by --public-url."
            )
        own = {f"{scheme}://{hosts[0]}".lower() for scheme in ("http", "https")}
        if self.url is not None:
            public = urlsplit(self.url)
            own.add(f"{public.scheme}://{public.netloc}".lower())
        if len(origins) > 1 or not own.issuperset(map(str.lower, origins)):
            return 403, "This page is not of housequest."
        return None

    def _is_own(self, host: str) -> bool:
        if (found := _HOST.fullmatch(host)) is None:
            return False
        name = found[1].lower()
        if name in {"localhost", self.host.lower(), urlsplit(self.url or "").hostname}:
            return True
        try:
            return bool(ipaddress.ip_address(name.strip("[]")))
        except ValueError:
            return False
