"""Sends each API key only to the host that it belongs to.

``OPENAI_API_KEY`` belongs to the official host. Another host gets the key in the environment variable that the user's
configuration names by ``key_env``, or else a placeholder, which local servers expect. Keys are sent only over https, except to
this machine and to ``http://HOST:PORT`` if the user's table has that name.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.paths import config_folder, read_file

OFFICIAL_URL = "https://api.openai.com/v1"
OFFICIAL_KEY = "OPENAI_API_KEY"
_OFFICIAL_ORIGIN = "https://api.openai.com:443"
PLACEHOLDER = "unused"
"""The key sent to a server without keys, since the protocol requires one."""
LONGEST_URL = 2_000
LONGEST_KEY = 8_000
MOST_AT_ONCE = 10_000
LARGEST_FILE = 1 << 20
_SETTINGS = ("key_env", "max_connections", "headers", "extra_body")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_OWN_HEADERS = frozenset({"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"})
"""Headers about the request itself, which cannot be configured."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_.])?|\[[0-9a-f:.]{2,45}\]")
_ADDRESS = re.compile(r"((?P<scheme>https?)://)?(?P<host>\[[^\]]*\]|[^:\[\]/@]+)(:(?P<port>\d{1,5}))?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_SECRET = re.compile(
    r"(api|access|account|private|secret|subscription)key|secret|passw|credential|authorization|(access|auth|bearer)token|^token$"
)
"""Names of secrets, reduced to lower-case letters; "tokens" as in max_tokens is not one."""
_SAID = {
    **dict.fromkeys(("model", "messages", "prompt", "stream", "stop"), "take it out"),
    **dict.fromkeys(("max_tokens", "max_completion_tokens"), "name the model with ?max_completion_tokens=NUMBER"),
    "temperature": "choose it with --set temperature=NUMBER",
    "seed": "choose it with --seed NUMBER",
}
"""Parameters that every request sets itself, with the advice for users."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible server: the ``url`` before ``/chat/completions``, and its ``address`` as ``host:port``."""

    url: str
    address: str

    @property
    def origin(self) -> str:
        """Scheme, host and port, to which a key is bound."""
        return f"{self.url.partition('://')[0]}://{self.address}"

    @property
    def host(self) -> str:
        return self.address.rpartition(":")[0]

    @property
    def loopback(self) -> bool:
        """True for this machine, by an address that no other can answer."""
        try:
            return self.host == "localhost" or ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def private(self) -> bool:
        """True if nobody between can read the traffic: over TLS, or on this machine."""
        return self.url.startswith("https:") or self.loopback

    @property
    def entry(self) -> str:
        """The name of its table in the user's own file."""
        return f'[endpoints."{self.address if self.private else self.origin}"]'

    @property
    def official(self) -> bool:
        """True for the official host, over TLS."""
        return self.origin == _OFFICIAL_ORIGIN


def parse_endpoint(url: str) -> Endpoint:
    """Parse a base URL. Raises ``ConfigurationError``, which never contains the URL: there may be a password in it."""
    way_out = "Write the server's base address, for example openai:NAME@http://127.0.0.1:8000/v1."
    if len(url) > LONGEST_URL or not (url.isascii() and url.isprintable()) or set(url) & set(' \\"<>'):
        raise ConfigurationError(f"The model's address is not a plain URL. {way_out}")
    no_host = ConfigurationError(f"The model's address has no valid host and port. {way_out}")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise no_host from None
    if parts.scheme not in _DEFAULT_PORTS:
        raise ConfigurationError(f"The model's address begins with neither http:// nor https://. {way_out}")
    if "@" in parts.netloc:
        raise ConfigurationError(
            "The model's address holds a user name or password, which would end up in records. Take it out; a key for this "
            f"host is named by key_env in {config_folder() / 'housequest.toml'}."
        )
    if parts.query or parts.fragment or "?" in url or "#" in url:
        raise ConfigurationError(f"The model's address has a query or a fragment after its path. {way_out}")
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    if not _HOST.fullmatch(host) or port == 0:
        raise no_host
    path = parts.path.rstrip("/")
    if path.endswith("/chat/completions"):
        raise ConfigurationError("The model's address ends in /chat/completions, which is added to it; leave that off.")
    usual = _DEFAULT_PORTS[parts.scheme]
    suffix = "" if port in {None, usual} else f":{port}"
    return Endpoint(f"{parts.scheme}://{host}{suffix}{path}", f"{host}:{port or usual}")


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The user's settings of endpoints: the variables of keys and headers (never a key itself), limits of concurrent calls, and
    additional parameters. Each of the ``tables`` is for ``scheme://host:port``, or for ``host:port``, whose secrets are not
    used over http to another machine.
    """

    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])

    def _said(self, endpoint: Endpoint, *, secret: bool = True) -> Mapping[str, Any]:
        """The settings of ``endpoint``; if ``secret``, only those that apply to its connection."""
        of_address: Mapping[str, Any] = self.tables.get(endpoint.address, {}) if endpoint.private or not secret else {}
        return {**of_address, **self.tables.get(endpoint.origin, {})}

    def variable(self, endpoint: Endpoint) -> str | None:
        """The environment variable with the key of ``endpoint``; None if it has no key."""
        return self._said(endpoint).get("key_env", OFFICIAL_KEY if endpoint.official else None)

    def max_connections(self, endpoint: Endpoint) -> int | None:
        """The user's limit of concurrent calls to ``endpoint``; None if not set."""
        return self._said(endpoint, secret=False).get("max_connections")

    def extra_body(self, endpoint: Endpoint) -> Mapping[str, Any]:
        """Additional parameters of each request to ``endpoint``, as recorded: without the values of variables."""
        said: Mapping[str, Any] = self._said(endpoint, secret=False).get("extra_body", {})
        return self._said(endpoint).get("extra_body", {}) if _variables(said) else said

    def sent_body(self, endpoint: Endpoint) -> dict[str, Any]:
        """`extra_body` with the values of variables. Raises ``ConfigurationError``."""
        body = self.extra_body(endpoint)
        return filled(body, lambda _, value: _secret(named, endpoint) if (named := _variable(value)) else value)

    def more_headers(self, endpoint: Endpoint) -> dict[str, str]:
        """Additional headers of each request to ``endpoint``, with values. Raises ``ConfigurationError``."""
        self.check_private(endpoint)
        return {name: _secret(variable, endpoint) for name, variable in self._said(endpoint).get("headers", {}).items()}

    def named(self, endpoint: Endpoint) -> tuple[str, ...]:
        """The environment variables whose values are sent to ``endpoint``."""
        headers, body = self._said(endpoint).get("headers", {}).values(), _variables(self.extra_body(endpoint))
        return tuple(dict.fromkeys(filter(None, (self.variable(endpoint), *headers, *body))))

    def check_private(self, endpoint: Endpoint) -> None:
        """Raise ``ConfigurationError`` for an http address of a host with a key for https, unless the user's file names it."""
        if endpoint.private or endpoint.origin in self.tables:
            return
        secret = {name for name, said in self.tables.items() if {"key_env", "headers"} & said.keys() or _variables(said)}
        kept = {name.removeprefix("https://") for name in {*secret, _OFFICIAL_ORIGIN} if not name.startswith("http://")}
        if endpoint.host in {address.rpartition(":")[0] for address in kept}:
            raise ConfigurationError(
                f"{endpoint.host} has a key, which is sent only over https; others could read the traffic to {endpoint.url}. "
                f"Write https://, or put {endpoint.entry} with its key_env into {config_folder() / 'housequest.toml'} if "
                "it is meant to go over http."
            )

    def key(self, endpoint: Endpoint) -> str:
        """The key to send to ``endpoint``, or the placeholder if it has none. Raises ``ConfigurationError``."""
        self.check_private(endpoint)
        variable = self.variable(endpoint)
        if variable is None:
            return PLACEHOLDER
        return _secret(variable, endpoint, blanks=False)


def _secret(variable: str, endpoint: Endpoint, *, blanks: bool = True) -> str:
    """The value of an environment variable; ``blanks`` inside may be allowed. Raises ``ConfigurationError``."""
    key = os.environ.get(variable, "")
    if not key:
        alternative = (
            "; or name a server of your own with openai:NAME@http://127.0.0.1:8000/v1, which needs none"
            if endpoint.official
            else f", or take the entry for it out of {config_folder() / 'housequest.toml'}"
        )
        raise ConfigurationError(f"{endpoint.address} needs a key: set {variable}{alternative}.")
    least = " " if blanks and key == key.strip() else "!"
    if len(key) > LONGEST_KEY or not all(least <= character <= "~" for character in key):
        raise ConfigurationError(
            f"The value of {variable} cannot be sent: it is too long or holds spaces, line ends, control or non-ASCII "
            "characters. Set it again without them."
        )
    return key


def read_configuration(file: Path) -> tuple[dict[str, Any], bytes] | None:
    """Read a configuration file's values and bytes; None if there is no file. Raises ``ConfigurationError``."""
    try:
        if not file.exists():
            return None
        content = read_file(file, LARGEST_FILE)
        return tomllib.loads(content.decode()), content
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror or type(error).__name__}.") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{file} is not UTF-8 text; save it as UTF-8.") from None
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{file} is not TOML: {shown(str(error) or 'nested too deeply')}") from None


def load_keys(file: Path | None = None) -> KeyRing:
    """Read the user's own configuration; empty if there is no file. Raises ``ConfigurationError``."""
    file = config_folder() / "housequest.toml" if file is None else file
    read = read_configuration(file)
    endpoints: object = read[0].get("endpoints", {}) if read is not None else {}
    if not isinstance(endpoints, dict):
        raise ConfigurationError(f'{file}: endpoints is not a table; write [endpoints."host:port"] above key_env = "NAME".')
    tables: dict[str, Mapping[str, Any]] = {}
    for address, entry in cast("dict[str, object]", endpoints).items():
        where = f"{file}: [endpoints.{shown(address)}]"
        match = _ADDRESS.fullmatch(address.lower())
        scheme = (match and match["scheme"]) or ""
        port = int((match and match["port"]) or _DEFAULT_PORTS[scheme or "https"])
        if match is None or not _HOST.fullmatch(match["host"]) or not 0 < port < 65_536:
            way_out = 'write it like [endpoints."models.example.org:443"] or [endpoints."http://models.example.org:8000"]'
            raise ConfigurationError(f"{where} is not a host with its port; {way_out}.")
        bound = f"{scheme}{'://' if scheme else ''}{match['host']}:{port}"
        if not isinstance(entry, dict):
            raise ConfigurationError(f'{where} is not a table; write key_env = "NAME" below it.')
        fields = tables[bound] = cast("dict[str, Any]", entry)
        for unknown in fields.keys() - {*_SETTINGS}:
            suggestion = nearest(unknown, _SETTINGS) or f" Known: {', '.join(_SETTINGS)}."
            raise ConfigurationError(f"{where} has no setting {shown(unknown)}.{suggestion}")
        if not fields:
            raise ConfigurationError(f'{where} is empty; write key_env = "NAME" below it, or take it out.')
        if "key_env" in fields:
            variable = fields["key_env"]
            if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
                # The value is not shown: it may be the key itself, put there by mistake.
                what = "key_env does not name an environment variable; never write the key itself into a file"
                raise ConfigurationError(f"{where} {what}.")
            if variable == OFFICIAL_KEY and bound not in {_OFFICIAL_ORIGIN, _OFFICIAL_ORIGIN.partition("://")[2]}:
                what = f"names {OFFICIAL_KEY}, which goes to api.openai.com alone; use another variable"
                raise ConfigurationError(f"{where} {what}.")
        if "max_connections" in fields:
            most = fields["max_connections"]
            if type(most) is not int or not 1 <= most <= MOST_AT_ONCE:
                raise ConfigurationError(
                    f"{where} max_connections: {shown(most)} is not a number of calls; give 1 to {MOST_AT_ONCE:,}."
                )
        for name in ("headers", "extra_body"):
            if name in fields:
                _check_table(fields[name], f"{where} {name}", bodies=name == "extra_body")
    return KeyRing(tables)


def _check_table(table: object, where: str, *, bodies: bool) -> None:
    """Raise ``ConfigurationError`` unless ``table`` has headers with their variables, or parameters (``bodies``)."""
    if not isinstance(table, dict) or not table:
        example = "{ top_k = 20 }" if bodies else '{ api-key = "NAME" }, with the name of an environment variable'
        raise ConfigurationError(f"{where} is not a table; write {example}.")
    found = cast("dict[str, Any]", table)
    if bodies:
        check_extra(found, where)
        return
    for name, variable in found.items():
        if not _HEADER.fullmatch(name) or name.lower() in _OWN_HEADERS:
            raise ConfigurationError(f"{where}: {shown(name)} is not a header that can be given; take it out.")
        if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
            # The value is not shown: it may be the secret itself, put there by mistake.
            raise ConfigurationError(
                f"{where}: {name} does not name an environment variable; never write the value itself into a file."
            )


def check_extra(body: Mapping[str, Any], where: str, *, named: bool = False) -> None:
    """Raise ``ConfigurationError`` if ``body`` repeats a parameter of every request or contains a secret; in a model's name
    (``named``), which somebody else may have written, also if it names an environment variable."""
    if taken := sorted(_SAID.keys() & body.keys()):
        raise ConfigurationError(f"{where}: {taken[0]} is set by every request itself; {_SAID[taken[0]]}.")

    def check(names: tuple[str, ...], value: object) -> None:
        variable = _variable(value)
        secret = any(_SECRET.search(re.sub("[^a-z]", "", name.lower())) for name in names)
        if (named or not _VARIABLE.fullmatch(variable)) if variable else secret and not isinstance(value, bool):
            way_out = f'name an environment variable in your own extra_body: {names[-1]} = {{ env = "NAME" }}'
            raise ConfigurationError(f"{where}: the value of {names[-1]} must not be in files or names; {way_out}.")

    filled(body, check)


def _variable(value: object) -> str:
    """The environment variable named by a value ``{ env = "NAME" }``; "" for other values."""
    table = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    name = table.get("env")
    return name if isinstance(name, str) and len(table) == 1 else ""


def _variables(body: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    filled(body, lambda _, value: found.append(_variable(value)))
    return [*filter(None, found)]


def filled(value: Any, fill: Callable[[tuple[str, ...], Any], object], *names: str) -> Any:
    """Replace each single value or variable in a table by the result of ``fill`` with the names above it."""
    if isinstance(value, list):
        return [filled(each, fill, *names) for each in cast("list[Any]", value)]
    if not (names and _variable(value)) and isinstance(value, dict):
        return {name: filled(each, fill, *names, name) for name, each in cast("dict[str, Any]", value).items()}
    return fill(names, value)
