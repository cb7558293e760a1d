"""The original game in worker processes: its packages, the worker, a pool of them, and an env."""
