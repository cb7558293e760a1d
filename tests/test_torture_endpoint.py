"""The endpoint of the torture looks at pictures, counts tokens, and counts probes apart."""

from __future__ import annotations

import asyncio

import httpx2

from scripts.torture.endpoint import Endpoint


def test_the_endpoint_takes_pictures_and_counts_tokens() -> None:
    async def ask() -> tuple[Endpoint, int, int]:
        endpoint = Endpoint()
        await endpoint.open()
        root = f"http://127.0.0.1:{endpoint.port}"
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
        seen = [{"role": "user", "content": [{"type": "text", "text": "What is there?"}, picture]}]
        game = [{"role": "user", "content": "Commands that are possible now:\ngo to shelf 1\ngo to desk 1"}]
        async with httpx2.AsyncClient() as client:
            for messages in (seen, game):
                answer = await client.post(f"{root}/v1/chat/completions", json={"messages": messages})
                assert answer.json()["choices"][0]["message"]["content"]
            one, other = [
                (await client.post(f"{root}/tokenize", json=asked)).json()["count"]
                for asked in ({"prompt": "three words here"}, {"messages": seen})
            ]
        await endpoint.close()
        return endpoint, one, other

    endpoint, one, other = asyncio.run(ask())
    assert (one, other) == (3, 4)
    assert (endpoint.paid.total(), endpoint.probes.total()) == (1, 1)
