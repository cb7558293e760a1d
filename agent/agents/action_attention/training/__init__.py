"""Training of the Action Attention agent, from the expert's plays to the file that ships, and how well that plays.

Run as ``python -m housequest.agent.agents.action_attention.training``. Needs the extra ``[train]`` (PyTorch). Nothing here runs
while a game is played. Measured are ordinary episodes with the admissible grant, alone and with PET's modules, as in the
paper's table 3; nothing that it is measured by is trained on.
"""
