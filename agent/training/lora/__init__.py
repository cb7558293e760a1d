"""Low-rank adapters (LoRA, Hu et al., ICLR 2022) for language models that play: from an expert's games to a file that plays.

``housequest train`` is the way in. In `games` the expert stands in the place of an agent's model, and each agent says what an
expert replies in its roles; what was asked and answered is collected as conversations. `run` writes them as tokens, and
`optimise` trains and writes the adapter, which needs the extra ``[train]``. Nothing here runs while a game is played, but the
examples of `games` that a model is shown which continues plain text.
"""
