"""alfworld's own interface over the native engine: change one import, and training code runs on it."""

from housequest.worlds.dropin.config import load_config
from housequest.worlds.dropin.env import AlfredTWEnv, get_environment
from housequest.worlds.dropin.games import BatchEnv

__all__ = ["AlfredTWEnv", "BatchEnv", "get_environment", "load_config"]
