"""alfworld's own interface over the native engine: change one import, and training code runs on it."""

from housequest.worlds.dropin.batches import BatchEnv
from housequest.worlds.dropin.config import load_config
from housequest.worlds.dropin.env import AlfredTWEnv, get_environment

__all__ = ["AlfredTWEnv", "BatchEnv", "get_environment", "load_config"]
