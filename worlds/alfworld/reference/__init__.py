"""The original game in processes of its own: its packages, their worker, and an env over it."""
