"""Training data out: recorded episodes, or the expert's in an agent's prompts, as lines of JSON that trainers read.

``housequest export`` is the way in. `conversations` joins an episode's calls to conversations that only grow, `recorded` reads
them from runs, `preferences` pairs what was done with what was done over, and `formats` writes lines. ``housequest train``
learns from the same conversations.
"""
