"""Training of the Action Attention agent, from the expert's plays to the file that ships.

Run as ``python -m housequest.agent.agents.action_attention.training``. Needs the extra ``[train]`` (PyTorch). Nothing here runs
while a game is played.
"""
