"""Low-rank adapters (LoRA, Hu et al., ICLR 2022) for language models that play: from an expert's games to a file that plays.

``housequest train`` is the way in. `teacher` stands in the place of an agent's model: it has what the expert knows, and each
agent says what an expert replies in its roles. `games` collects what was asked and answered as conversations, `recipe` writes
them as tokens, and `optimise` trains and writes the adapter, which needs the extra ``[train]``. Nothing here runs while a game
is played, but the examples of `games` that a model is shown which continues plain text.
"""
