"""ALFWorld as a taskset of verifiers."""

from housequest_alfworld.taskset import AlfworldTaskset

__all__ = ["AlfworldTaskset"]
