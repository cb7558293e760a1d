"""Work beside the screen: whoever waits for it is told, whatever comes of it."""

from __future__ import annotations

import asyncio

import pytest

from housequest.tui.base_screen import in_thread


class Odd(BaseException):
    """No failure that one expects."""


@pytest.mark.parametrize(("error", "told"), [(ValueError(), ValueError), (StopIteration(), RuntimeError), (Odd(), Odd)])
def test_whatever_the_work_raises_is_raised(error: BaseException, told: type[BaseException]) -> None:
    def work() -> None:
        raise error

    with pytest.raises(told):
        asyncio.run(in_thread(work))


def test_what_the_work_returns_is_returned() -> None:
    assert asyncio.run(in_thread(lambda: 7)) == 7
