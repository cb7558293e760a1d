"""ALFWorld's commands as methods, for programs whose models call tools: types and docstrings tell a model how to call them.

Every public method is a tool, and nothing else is public, since some programs take all that they find.
"""

from __future__ import annotations

from abc import ABC, abstractmethod


class CommandTools(ABC):
    """Methods that each play one command and return what it was answered; a subclass says what playing is."""

    @abstractmethod
    def _play(self, command: str) -> str:
        """What ``command`` is answered."""

    def go_to(self, receptacle: str) -> str:
        """Walk to a receptacle, and see what is on it, or in it if it is open.

        Args:
            receptacle: The name of the receptacle with its number, such as "fridge 1".

        Returns:
            What you see there.
        """
        return self._play(f"go to {receptacle}")

    def take(self, object: str, receptacle: str) -> str:
        """Take an object from the receptacle that you are at. You can hold one object at a time.

        Args:
            object: The name of the object with its number, such as "mug 2".
            receptacle: The name of the receptacle that it is in or on, such as "shelf 1".

        Returns:
            What happens.
        """
        return self._play(f"take {object} from {receptacle}")

    def put(self, object: str, receptacle: str) -> str:
        """Put the object that you hold into or onto the receptacle that you are at.

        Args:
            object: The name of the object that you hold, such as "mug 2".
            receptacle: The name of the receptacle, such as "shelf 1".

        Returns:
            What happens.
        """
        return self._play(f"move {object} to {receptacle}")

    def open(self, receptacle: str) -> str:
        """Open the receptacle that you are at, and see what is in it.

        Args:
            receptacle: The name of the receptacle, such as "drawer 1".

        Returns:
            What happens.
        """
        return self._play(f"open {receptacle}")

    def close(self, receptacle: str) -> str:
        """Close the receptacle that you are at.

        Args:
            receptacle: The name of the receptacle, such as "drawer 1".

        Returns:
            What happens.
        """
        return self._play(f"close {receptacle}")

    def heat(self, object: str, receptacle: str) -> str:
        """Heat the object that you hold with the microwave that you are at.

        Args:
            object: The name of the object that you hold, such as "mug 2".
            receptacle: The name of the microwave, such as "microwave 1".

        Returns:
            What happens.
        """
        return self._play(f"heat {object} with {receptacle}")

    def cool(self, object: str, receptacle: str) -> str:
        """Cool the object that you hold with the fridge that you are at.

        Args:
            object: The name of the object that you hold, such as "mug 2".
            receptacle: The name of the fridge, such as "fridge 1".

        Returns:
            What happens.
        """
        return self._play(f"cool {object} with {receptacle}")

    def clean(self, object: str, receptacle: str) -> str:
        """Clean the object that you hold with the sink basin that you are at.

        Args:
            object: The name of the object that you hold, such as "mug 2".
            receptacle: The name of the sink basin, such as "sinkbasin 1".

        Returns:
            What happens.
        """
        return self._play(f"clean {object} with {receptacle}")

    def slice(self, object: str, knife: str) -> str:
        """Slice an object at the place where you are, with the knife that you hold.

        Args:
            object: The name of the object, such as "tomato 1".
            knife: The name of the knife that you hold, such as "butterknife 1".

        Returns:
            What happens.
        """
        return self._play(f"slice {object} with {knife}")

    def use(self, object: str) -> str:
        """Turn on a lamp at the place where you are.

        Args:
            object: The name of the lamp, such as "desklamp 1".

        Returns:
            What happens.
        """
        return self._play(f"use {object}")

    def examine(self, name: str) -> str:
        """Look closely at a receptacle or an object where you are, or at the object that you hold.

        Args:
            name: The name of the receptacle or object, such as "mug 2".

        Returns:
            What you see.
        """
        return self._play(f"examine {name}")

    def look(self) -> str:
        """Look around where you are.

        Returns:
            What you see.
        """
        return self._play("look")

    def inventory(self) -> str:
        """Find out what you hold.

        Returns:
            What you hold.
        """
        return self._play("inventory")
