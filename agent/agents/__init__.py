"""The agents, one package each: its ``__init__`` declares the agent, ``agent.py`` decides, and its prompts are beside it.

``spec`` is the declaration, and finds and makes agents by name; ``checking`` tests the contract. Several agents share
``examples`` (in-context examples) and ``bodies`` (moved by skills; and following a plan of subgoals).
"""
