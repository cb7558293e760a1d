"""Training of the Action Attention agent, from the expert's plays to the file that ships, and its evaluation.

Run as ``python -m housequest.agent.agents.action_attention.training``. Needs the extra ``[train]`` (PyTorch). Nothing here runs
while a game is played. The evaluation plays ordinary episodes with the admissible grant, alone and with PET's modules, as in
the paper's table 3; none of them is trained on.
"""
