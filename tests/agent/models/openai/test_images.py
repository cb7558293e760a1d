"""Pictures in messages: they arrive as they are, and only where an endpoint was seen to look at them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random

import pytest
from starlette.responses import Response

from housequest.agent.models.base import Image, Message, Request
from housequest.agent.models.checking import check_model
from housequest.agent.models.openai.model import names_colours
from housequest.agent.models.registry import make_model
from housequest.worlds.errors import ModelError, Unsupported
from housequest.worlds.rooms.render import png_file
from tests.backends import server as backend
from tests.backends.server import Policy, Recorded, Server, decoded, serve

ROWS = [Random(row).randbytes(3 * 5) for row in range(7)]
PICTURE = Image(png_file((5, 7), 2, b"".join(b"\0" + row for row in ROWS)), "some digest")
LOOK = [
    Message("system", "You look at pictures."),
    Message("user", "first", PICTURE),
    Message("assistant", "yes"),
    Message("user", "then"),
]


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve(lambda messages: "ready") as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    """The endpoint of all these tests, as if nobody had asked it anything."""
    running.reset()
    return running


def ask(server: Server) -> None:
    async def run() -> None:
        model = make_model(server.model(), timeout=5, wait=0.001)
        try:
            await model.complete(Request(LOOK))
        finally:
            await model.aclose()

    asyncio.run(run())


def test_a_picture_arrives_after_its_text_as_it_was(server: Server) -> None:
    server.probing = backend.seeing
    ask(server)
    sent = server.requests[-1].body["messages"]
    assert [each["content"] for each in (sent[0], *sent[2:])] == ["You look at pictures.", "yes", "then"]
    assert [part["type"] for part in sent[1]["content"]] == ["text", "image_url"]
    assert sent[1]["content"][0]["text"] == "first"
    assert sent[1]["content"][1]["image_url"].keys() == {"url"}
    (picture,) = server.requests[-1].pngs
    assert [bytes(value for pixel in row for value in pixel) for row in decoded(picture)] == ROWS


@pytest.mark.parametrize(
    "to_pictures",
    [
        backend.saying("ready"),
        backend.saying("Blue, green."),
        backend.status(400, {"error": {"message": "This model does not support image input"}}),
        backend.status(500, {"error": {"message": "image input is not supported by this server"}}),
    ],
    ids=["passes over them", "guesses", "refuses", "breaks"],
)
def test_who_takes_no_pictures_is_sent_none(server: Server, to_pictures: backend.Behaviour) -> None:
    async def probed(recorded: Recorded, policy: Policy) -> Response:
        return await (to_pictures if recorded.pngs else backend.saying("ready"))(recorded, policy)

    server.probing = probed
    with pytest.raises(Unsupported, match=r"takes no images; name a vision model, or leave out --grant view\."):
        ask(server)
    assert not server.requests


@pytest.mark.parametrize(
    ("said", "fatal"),
    [
        ("At most 1 image(s) may be provided in one prompt.", True),
        ("Too many images in request: 6 > 5.", True),
        # One prompt that is too long says nothing of others.
        ("The prompt is longer than the model's maximum; image tokens depend on the number of images and their sizes.", False),
    ],
)
def test_a_server_that_takes_fewer_images_than_a_prompt_has_stops_the_run(server: Server, said: str, fatal: bool) -> None:
    server.probing = backend.seeing
    server.behave(backend.answer, backend.status(400, {"error": {"message": said}}))
    ask(server)
    with pytest.raises(ModelError) as raised:
        ask(server)
    assert raised.value.fatal is fatal
    assert ("--limit-mm-per-prompt" in str(raised.value)) is fatal


def test_the_check_of_a_model_tells_whether_it_sees(server: Server) -> None:
    async def seen() -> tuple[bool, str]:
        model = make_model(server.model(), timeout=5, wait=0.001)
        report = await check_model(model)
        await model.aclose()
        assert not report.broken
        (images,) = [each for each in report.abilities if each.what == "images"]
        return images.works, images.seen

    assert asyncio.run(seen()) == (False, "not offered")
    server.probing = backend.seeing
    works, said = asyncio.run(seen())
    assert works
    assert "Yellow, red." in said


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("yellow red", True),
        ("The upper half is **Yellow**,\nthe lower one Red.", True),
        ("red, yellow", False),
        ("yellow, coloured", False),
        ("I cannot see pictures.", False),
        ("", False),
    ],
)
def test_only_somebody_who_looked_names_both_colours(text: str, named: bool) -> None:
    assert names_colours(text) is named
