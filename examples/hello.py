"""Play one task with an agent and print what happens: the smallest program on housequest.

python examples/hello.py                                            the expert, in a made-up kitchen
python examples/hello.py openai:NAME@http://localhost:8000/v1       reasoner and actor, on a model of yours
"""

import asyncio
import sys

from housequest import make_agent, make_model, make_world, play


async def main(model_name: str | None) -> None:
    world = make_world("alfworld")
    task = world.task("generated:690")
    model = make_model(model_name) if model_name else None
    agent = make_agent("reasoner-actor" if model else "expert", world=world, model=model)
    async for event in play(world, task, agent):
        print(event.id, event.body)
    if model:
        await model.aclose()


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else None))
