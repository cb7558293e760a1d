"""Model names."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.models.keys import KeyRing
from housequest.agent.models.openai import OpenAIProvider
from housequest.agent.models.registry import make_model, models_of, named_models, parse_model, portable_name
from housequest.worlds.errors import ConfigurationError
from tests.parts import needs


@pytest.mark.parametrize(
    ("name", "model", "address"),
    [
        ("openai:gpt-5", "gpt-5", "api.openai.com:443"),
        ("openai:qwen3:32b@http://127.0.0.1:11434/v1", "qwen3:32b", "127.0.0.1:11434"),
        ("openai:org/name@2024@https://host/v1", "org/name@2024", "host:443"),
        ("openai:a@http@http://host:1/v1", "a@http", "host:1"),
        (" openai: a ", "a", "api.openai.com:443"),
    ],
)
def test_an_endpoints_model(name: str, model: str, address: str) -> None:
    parsed = parse_model(name)
    served = parsed.provider
    assert isinstance(served, OpenAIProvider)
    assert (served.model, served.endpoint.address) == (model, address)
    assert parse_model(str(parsed)) == parsed


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("", "There is no kind of model ''"),
        ("gpt-5", "openai:NAME"),
        ("opanai:x", "Did you mean 'openai'"),
        ("script:x", "Did you mean 'scripted'"),
        pytest.param("llama:", "names nothing", marks=needs("llama")),
        ("builtin:", "names nothing"),
        ("openai:", "names nothing"),
        ("scripted: ", "names nothing"),
        ("scripted:a\0b", "not the name of a file"),
        ("openai:x@localhost:8000", "http:// after the @"),
        ("openai:x@ftp://host/v1", "neither http:// nor https://"),
        ("openai:x@http://a:SECRET@http://host/v1", "neither http:// nor https://"),
        ("openai:x@http://a:SECRET@host/v1", "user name or password"),
        ("openai:@http://host/v1", "not the name of a model"),
        ("openai:" + "x" * 500, "not the name of a model"),
        ("openai:x\ny", "not the name of a model"),
    ],
    ids=itertools.count(),
)
def test_a_wrong_name_is_refused_with_the_way_out(name: str, complaint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_model(name)
    assert complaint in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert len(str(caught.value)) < 400


@given(
    st.text(max_size=80) | st.text(max_size=60).map("openai:".__add__) | st.text(max_size=60).map("openai:a@http://".__add__)
)
def test_any_name_is_a_model_or_a_configuration_error(name: str) -> None:
    try:
        parsed = parse_model(name)
    except ConfigurationError as error:
        assert str(error).isprintable()
    else:
        assert parse_model(str(parsed)) == parsed


@pytest.mark.parametrize("settings", [{"timeout": 0}, {"timeout": float("nan")}, {"retries": -1}, {"wait": float("inf")}])
def test_limits_that_allow_nothing_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError):
        make_model("openai:x@http://127.0.0.1:1/v1", keys=KeyRing(), **settings)  # type: ignore[arg-type]


def test_the_official_host_without_a_key_is_refused_before_any_call(own_file: Path) -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        make_model("openai:gpt-5")


def test_a_model_tells_no_key(own_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-precious")
    model = make_model("openai:gpt-5")
    assert model.name == "openai:gpt-5"
    assert "precious" not in repr(model)


def test_nothing_heavy_is_imported_before_the_first_call() -> None:
    script = (
        "import sys; from housequest.agent.models.registry import make_model; make_model('openai:x@http://127.0.0.1:1/v1'); "
        "print(sys.modules.keys() & {'openai', 'httpx2', 'pydantic', 'ruamel.yaml', 'numpy'})"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z_-]{0,8}", fullmatch=True),
        st.from_regex(r"openai:[a-z0-9/.:-]{1,12}(\?seed=[a-z]{1,3})?", fullmatch=True),
        max_size=4,
    )
)
def test_models_of_roles_are_read_as_they_are_written(others: dict[str, str]) -> None:
    models = {"": "openai:x@http://127.0.0.1:1/v1?a=b,c", **others}
    assert models_of(named_models(models)) == models
    assert models_of(*(f"{role}={name}" if role else name for role, name in models.items())) == models


def test_models_of_roles_have_one_name_without_hosts() -> None:
    both = "openai:x@http://127.0.0.1:1/v1, reasoner=openai:y@http://127.0.0.1:2/v1,actor=openai:z"
    assert portable_name(both) == "openai:x,actor=openai:z,reasoner=openai:y"
    with pytest.raises(ConfigurationError, match="Only one model can be used here"):
        parse_model(both)
