"""The agents, one package each: its ``__init__`` declares the agent, ``agent.py`` decides, and its prompts lie beside it.

``spec`` is what a package declares, and finds and makes agents by name; ``checking`` tests the contract. Shared by several
agents: ``examples`` (in-context examples) and ``bodies`` (what skills move, and following a plan of subgoals).
"""
