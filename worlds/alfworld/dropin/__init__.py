"""alfworld's own interface over the native engine: change one import, and training code runs on it."""

from worlds.alfworld.dropin.env import AlfredTWEnv, BatchEnv, get_environment, load_config

__all__ = ["AlfredTWEnv", "BatchEnv", "get_environment", "load_config"]
