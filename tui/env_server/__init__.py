"""``housequest env-server``: environments for trainers, over HTTP."""
