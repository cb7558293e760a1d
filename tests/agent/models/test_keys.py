"""Which key goes to which host."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.models.keys import OFFICIAL_KEY, OFFICIAL_URL, PLACEHOLDER, KeyRing, load_keys, parse_endpoint
from housequest.worlds.errors import ConfigurationError

OFFICIAL = parse_endpoint(OFFICIAL_URL)
LOCAL = parse_endpoint("http://127.0.0.1:8000/v1")


@pytest.mark.parametrize(
    ("url", "address", "shown"),
    [
        ("http://127.0.0.1:8000/v1", "127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("HTTPS://Models.Example.org/v1/", "models.example.org:443", "https://models.example.org/v1"),
        ("https://models.example.org:443", "models.example.org:443", "https://models.example.org"),
        ("http://[::1]:9/v1", "[::1]:9", "http://[::1]:9/v1"),
        ("http://h:", "h:80", "http://h"),
    ],
)
def test_an_address_is_read_with_its_port(url: str, address: str, shown: str) -> None:
    endpoint = parse_endpoint(url)
    assert (endpoint.address, endpoint.url) == (address, shown)
    assert parse_endpoint(endpoint.url) == endpoint


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://host/v1",
        "http://",
        "http:///v1",
        "http://host:99999/v1",
        "http://host:0/v1",
        "http://host:port/v1",
        "http://user:SECRET@host/v1",
        "http://SECRET@host/v1",
        "http://host/v1?key=SECRET",
        "http://host/v1#SECRET",
        "http://host/v1?",
        "http://api.openai.com\\@SECRET/v1",
        "http://ho st/v1",
        "http://host\n/v1",
        "http://h%6fst/v1",
        "http://аpi.openai.com/v1",
        "http://[::1/v1",
        "http://[fe80::1%eth0]/v1",
        "http://host/v1/chat/completions",
        "http://" + "h" * 5_000,
    ],
    ids=itertools.count(),
)
def test_an_address_that_is_none_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_endpoint(url)
    assert "SECRET" not in str(caught.value)


@given(st.text(max_size=60).map("http://".__add__) | st.text(max_size=60))
def test_any_text_is_an_address_or_a_configuration_error(url: str) -> None:
    try:
        endpoint = parse_endpoint(url)
    except ConfigurationError:
        return
    assert parse_endpoint(endpoint.url) == endpoint
    assert endpoint.official == (endpoint.url.partition("/v")[0] == "https://api.openai.com")


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com:444/v1",
        "https://api.openai.com./v1",
        "https://api.openai.com.example.org/v1",
        "https://api-openai.com/v1",
        "http://127.0.0.1:8000/v1",
    ],
)
def test_the_official_key_goes_to_the_official_host_alone(url: str, own_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OFFICIAL_KEY, "sk-official")
    assert load_keys().key(OFFICIAL) == "sk-official"
    assert load_keys().key(parse_endpoint("https://API.openai.com:443/v1")) == "sk-official"
    assert load_keys().key(parse_endpoint(url)) == PLACEHOLDER


def test_another_host_gets_the_key_that_the_users_own_file_names(own_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_file.write_text(
        'seed = 3\n[endpoints."Models.example.org"]\nkey_env = "EXAMPLE_KEY"\n'
        '[endpoints."127.0.0.1:8000"]\nkey_env = "LOCAL_KEY"\n'
    )
    monkeypatch.setenv(OFFICIAL_KEY, "sk-official")
    monkeypatch.setenv("EXAMPLE_KEY", "example")
    monkeypatch.setenv("LOCAL_KEY", "local")
    ring = load_keys()
    keys = {url: ring.key(parse_endpoint(url)) for url in ("https://models.example.org/v1", "http://127.0.0.1:8000/v1")}
    assert list(keys.values()) == ["example", "local"]
    for other in ("https://models.example.org:8443/v1", "http://127.0.0.1:8001/v1"):
        assert ring.key(parse_endpoint(other)) == PLACEHOLDER
    assert "example" not in repr(ring).replace("models.example.org", "").lower().replace("example_key", "")


@pytest.mark.parametrize(
    ("name", "sent_to", "refused"),
    [
        ("h.example:8000", ("https://h.example:8000",), ("http://h.example:8000", "http://h.example", "http://H.Example:9")),
        ("h.example", ("https://h.example:443/v1",), ("http://h.example:443", "http://h.example")),
        ("https://h.example:8000", ("https://h.example:8000/v1",), ("http://h.example:8000", "http://h.example")),
        ("http://h.example:8000", ("http://h.example:8000/v1",), ()),
        ("HTTP://H.Example", ("http://h.example:80/v1",), ()),
        ("127.0.0.1:8000", ("https://127.0.0.1:8000", "http://127.0.0.1:8000"), ()),
        ("127.9.9.9:8000", ("http://127.9.9.9:8000",), ()),
        ("localhost:8000", ("https://localhost:8000", "http://localhost:8000"), ()),
        ("[::1]:8000", ("http://[::1]:8000",), ()),
        ("10.0.0.5:8000", ("https://10.0.0.5:8000",), ("http://10.0.0.5:8000",)),
        ("localhost.example:8000", ("https://localhost.example:8000",), ("http://localhost.example:8000",)),
        ("127.0.0.1.example:8000", ("https://127.0.0.1.example:8000",), ("http://127.0.0.1.example:8000",)),
    ],
)
def test_a_key_goes_over_https_to_this_machine_or_where_its_name_says_http(
    name: str, sent_to: tuple[str, ...], refused: tuple[str, ...], own_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_file.write_text(f'[endpoints."{name}"]\nkey_env = "EXAMPLE_KEY"\n')
    monkeypatch.setenv("EXAMPLE_KEY", "precious")
    for url in sent_to:
        assert load_keys().key(parse_endpoint(url)) == "precious", url
    for url in refused:
        endpoint = parse_endpoint(url)
        with pytest.raises(ConfigurationError, match="only over https") as caught:
            load_keys().key(endpoint)
        # The way out that it names is one.
        entry = str(caught.value).partition("put ")[2].partition(" with")[0]
        own_file.write_text(f'[endpoints."{name}"]\nkey_env = "EXAMPLE_KEY"\n{entry}\nkey_env = "EXAMPLE_KEY"\n')
        assert load_keys().key(endpoint) == "precious", url
        own_file.write_text(f'[endpoints."{name}"]\nkey_env = "EXAMPLE_KEY"\n')
    for url in (
        "http://h.example:8001" if not refused else "https://h.example:8001",
        "https://example.org",
        "http://127.0.0.2:1",
    ):
        assert load_keys().key(parse_endpoint(url)) == PLACEHOLDER


@pytest.mark.parametrize("url", ["http://api.openai.com/v1", "http://api.openai.com:443/v1", "http://API.openai.com:8000"])
def test_the_official_host_is_not_asked_over_http(url: str, own_file: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"api\.openai\.com has a key.*Write https://"):
        load_keys().key(parse_endpoint(url))


def test_a_host_without_a_key_may_be_asked_over_http(own_file: Path) -> None:
    own_file.write_text('[endpoints."10.0.0.5:8000"]\nmax_connections = 7\n')
    endpoint = parse_endpoint("http://10.0.0.5:8000/v1")
    assert load_keys().key(endpoint) == PLACEHOLDER
    assert load_keys().max_connections(endpoint) == 7


def test_the_users_own_limit_is_bound_to_a_host_too(own_file: Path) -> None:
    own_file.write_text('[endpoints."127.0.0.1:8000"]\nmax_connections = 7\n')
    ring = load_keys()
    assert ring.max_connections(LOCAL) == 7
    assert ring.key(LOCAL) == PLACEHOLDER
    assert ring.max_connections(OFFICIAL) is None


def test_a_file_that_came_with_a_folder_names_no_key(own_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cloned = tmp_path / "cloned"
    cloned.mkdir()
    (cloned / "housequest.toml").write_text('[endpoints."127.0.0.1:8000"]\nkey_env = "AWS_SECRET_ACCESS_KEY"\n')
    monkeypatch.chdir(cloned)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "precious")
    assert load_keys().key(LOCAL) == PLACEHOLDER


def test_a_missing_key_is_named_with_the_way_out(own_file: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"OPENAI_API_KEY.*openai:NAME@http"):
        load_keys().key(OFFICIAL)
    with pytest.raises(ConfigurationError, match=r"127\.0\.0\.1:8000.*SOME_KEY.*housequest\.toml"):
        KeyRing({"127.0.0.1:8000": {"key_env": "SOME_KEY"}}).key(LOCAL)


@pytest.mark.parametrize("key", ["se\ncret", "secret\n", "se cret", "se\x01cret", "sécret", "secret" * 2_000], ids=range(6))
def test_a_key_that_cannot_be_sent_is_refused_by_its_variable(
    key: str, own_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OFFICIAL_KEY, key)
    with pytest.raises(ConfigurationError, match=OFFICIAL_KEY) as caught:
        load_keys().key(OFFICIAL)
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"\xff\xfe", "UTF-8"),
        (b"[endpoints", "TOML"),
        (b"a = " + b"[" * 100_000, "TOML"),
        (b"a = " + b"9" * 10_000, "TOML"),
        (b"endpoints = 3", "not a table"),
        (b'[endpoints]\n"host:1" = 3', "not a table"),
        (b'[endpoints."ftp://host"]\nkey_env = "A"', "host with its port"),
        (b'[endpoints."http://host/v1"]\nkey_env = "A"', "host with its port"),
        (b'[endpoints."http://"]\nkey_env = "A"', "host with its port"),
        (b'[endpoints."host:99999"]\nkey_env = "A"', "host with its port"),
        (b'[endpoints."host:1"]\nkey_end = "A"', "Did you mean 'key_env'"),
        (b'[endpoints."host:1"]\nkey_env = "sk-precious"', "does not name an environment variable"),
        (b'[endpoints."host:1"]\nkey_env = 3', "does not name an environment variable"),
        (b'[endpoints."host:1"]', "is empty"),
        (b'[endpoints."host:1"]\nmax_connections = 0', "not a number of calls"),
        (b'[endpoints."host:1"]\nmax_connections = true', "not a number of calls"),
        (b'[endpoints."host:1"]\nmax_connections = "8"', "not a number of calls"),
        (b'[endpoints."host:1"]\nmax_conections = 8', "Did you mean 'max_connections'"),
        (b'[endpoints."host:1"]\nheaders = { api-key = "sk-precious" }', "does not name an environment variable"),
        (b'[endpoints."host:1"]\nheaders = { api-key = 3 }', "does not name an environment variable"),
        (b'[endpoints."host:1"]\nheaders = { "a b" = "A" }', "'a b' is not a header"),
        (b'[endpoints."host:1"]\nheaders = { Host = "A" }', "'Host' is not a header"),
        (b'[endpoints."host:1"]\nheaders = "A"', "is not a table"),
        (b'[endpoints."host:1"]\nextra_body = {}', "is not a table"),
        (b'[endpoints."host:1"]\nextra_body = { model = "m" }', "model is set by every request itself"),
        (b'[endpoints."host:1"]\nextra_body = { temperature = 1 }', "itself; choose it with --set temperature="),
        (b'[endpoints."host:1"]\nextra_body = { max_tokens = 1 }', "name the model with ?max_completion_tokens="),
        (b'[endpoints."host:1"]\nextra_body = { api_key = "precious" }', 'api_key = { env = "NAME" }'),
        (b'[endpoints."host:1"]\nextra_body = { a = [{ Access-Token = "precious" }] }', 'Access-Token = { env = "NAME" }'),
        (b'[endpoints."host:1"]\nextra_body = { credentials = { a = "precious" } }', "the value of a must not be in files"),
        (b'[endpoints."host:1"]\nextra_body = { api_key = { env = "sk-precious" } }', "name an environment variable"),
        (b'[endpoints."host:1"]\nkey_env = "OPENAI_API_KEY"', "api.openai.com alone"),
        (b'[endpoints."http://api.openai.com:443"]\nkey_env = "OPENAI_API_KEY"', "api.openai.com alone"),
    ],
    ids=itertools.count(),
)
def test_a_damaged_file_is_named(content: bytes, complaint: str, own_file: Path) -> None:
    own_file.write_bytes(content)
    with pytest.raises(ConfigurationError) as caught:
        load_keys()
    assert str(own_file) in str(caught.value)
    assert complaint in str(caught.value)
    assert "precious" not in str(caught.value)


def test_a_body_may_speak_of_tokens_and_name_variables(own_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = '{ stop_token_ids = [1], min_tokens = 3, eos_token = "</s>", token = { env = "BODY_KEY" }, env = "prod" }'
    own_file.write_text(f'[endpoints."h.example:8000"]\nextra_body = {body}\n')
    with pytest.raises(ConfigurationError, match="set BODY_KEY"):
        load_keys().sent_body(parse_endpoint("https://h.example:8000"))
    monkeypatch.setenv("BODY_KEY", "precious words")
    ring, endpoint = load_keys(), parse_endpoint("https://h.example:8000")
    said = ring.extra_body(endpoint)
    assert (said["token"], said["env"], said["eos_token"]) == ({"env": "BODY_KEY"}, "prod", "</s>")
    assert ring.sent_body(endpoint) == {**said, "token": "precious words"}
    assert ring.named(endpoint) == ("BODY_KEY",)
    with pytest.raises(ConfigurationError, match="only over https"):
        ring.key(parse_endpoint("http://h.example:8000"))


@given(st.binary(max_size=200) | st.text(max_size=80).map(lambda text: f"[endpoints.{text}]\nkey_env = 'A'".encode()))
def test_any_file_gives_a_ring_or_a_configuration_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.mktemp("own") / "housequest.toml"
    file.write_bytes(content)
    try:
        assert isinstance(load_keys(file), KeyRing)
    except ConfigurationError as error:
        assert str(file) in str(error)
