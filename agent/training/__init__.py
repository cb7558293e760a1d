"""Training of the built-in model, from playing games to the exported file: see ``python -m housequest.agent.training --help``.

Needs the extra ``[train]`` (PyTorch). Nothing here runs while a game is played.
"""

CHECKPOINT = "checkpoint.pt"  # The file in a run's folder from which an interrupted run resumes.
