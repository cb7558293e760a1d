"""What a file says of itself before anything loads it: whatever its bytes, a header or a reason."""

from __future__ import annotations

import struct
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.evaluation.library import evaluate
from housequest.agent.models.gguf import check_adapter, fingerprint, read_header
from housequest.agent.models.registry import file_digest
from housequest.worlds.errors import ConfigurationError
from tests.agent.models.tiny import CONTEXT, Kind, write_tiny
from tests.parts import needs


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("model") / "tiny.gguf")


def test_a_header_is_read(tiny: Path) -> None:
    header = read_header(tiny)
    assert (header.architecture, header.name, header.context, header.vocabulary) == ("llama", "tiny", CONTEXT, 354)
    assert header.tensors == 21
    assert header.template is not None
    assert header.template.startswith("{% for m in messages %}")


@pytest.mark.parametrize(
    ("kind", "why"),
    [(Kind(weights=False), "a vocabulary and no weights"), (Kind(vocabulary=False), "part of a model")],
)
def test_what_is_no_whole_model_is_refused(kind: Kind, why: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=why):
        read_header(write_tiny(tmp_path / "part.gguf", kind))


def adapter(path: Path, **entries: str) -> Path:
    """A file that says of itself what ``entries`` say."""

    def text(said: str) -> bytes:
        return struct.pack("<Q", len(said)) + said.encode()

    body = b"".join(text(f"general.{key}") + struct.pack("<I", 8) + text(value) for key, value in entries.items())
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries)) + body)
    return path


def test_an_adapter_is_one_for_this_model(tiny: Path, tmp_path: Path) -> None:
    model = read_header(tiny)
    check_adapter(adapter(tmp_path / "fits.gguf", type="adapter", architecture="llama"), model)
    with pytest.raises(ConfigurationError, match="made for the architecture 'qwen2', and the model has 'llama'"):
        check_adapter(adapter(tmp_path / "other.gguf", type="adapter", architecture="qwen2"), model)
    with pytest.raises(ConfigurationError, match="is not an adapter"):
        check_adapter(tiny, model)
    with pytest.raises(ConfigurationError, match=r"The adapter .*missing.gguf.* cannot be read: No such file"):
        check_adapter(tmp_path / "missing.gguf", model)


@needs("llama")
def test_two_adapters_of_one_name_are_two_models(tiny: Path, tmp_path: Path) -> None:
    digests = [file_digest(f"llama:{tiny}")]
    file = adapter(tmp_path / "adapter.gguf", type="adapter", architecture="llama")
    for more in (b"", b"more"):
        file.write_bytes(file.read_bytes() + more)
        digests.append(file_digest(f"llama:{tiny}?lora={file}"))
    assert len(set(digests)) == 3


@needs("llama")
@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("lora={}/none.gguf", r"The adapter .*none.gguf' cannot be read: No such file or directory. .*\?lora=FILE"),
        ("lora={}/script.yaml", r"is not a GGUF file. Name one that was made for this model"),
        ("template={}/none.jinja", r"no chat template .*No such file or directory\). .*\?template=FILE"),
    ],
)
def test_a_run_does_not_begin_without_an_adapter_or_a_template(tiny: Path, tmp_path: Path, option: str, why: str) -> None:
    (tmp_path / "script.yaml").write_text("default: look")
    model, out = f"llama:{tiny}?{option.format(tmp_path)}", tmp_path / "run"
    with pytest.raises(ConfigurationError, match=why):
        evaluate(out=out, agent="react", model=model, split="example", limit=1)
    assert not out.exists()


@pytest.mark.parametrize("name", ["missing.gguf", ".", "a\0b", "x" * 5_000])
def test_what_is_no_file_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_header(tmp_path / name)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        fingerprint(tmp_path / name)


def test_a_file_that_was_cut_off_is_refused(tiny: Path, tmp_path: Path) -> None:
    whole, cut = tiny.read_bytes(), tmp_path / "cut.gguf"
    for size in (0, 3, 7, 20, 100, 2_000, 5_000):
        cut.write_bytes(whole[:size])
        with pytest.raises(ConfigurationError, match=r"is not a GGUF file|cut off"):
            read_header(cut)


@given(st.integers(4, 4_000), st.binary(min_size=1, max_size=12))
def test_any_bytes_are_a_header_or_refused(at: int, change: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = write_tiny(Path(folder) / "odd.gguf", Kind(weights=False))
        content = path.read_bytes()
        path.write_bytes(content[:at] + change + content[at + len(change) :])
        try:
            header = read_header(path)
        except ConfigurationError:
            return
        # The bytes that count the tensors can be changed too; that they are not there shows when they are loaded.
        assert header.tensors > 0


def test_a_fingerprint_tells_models_apart(tiny: Path, tmp_path: Path) -> None:
    again, other = write_tiny(tmp_path / "again.gguf"), write_tiny(tmp_path / "other.gguf", seed=1)
    assert fingerprint(again) == fingerprint(tiny) != fingerprint(other)
