"""Low-rank adapters (LoRA, Hu et al., ICLR 2022) for language models that play, trained on an expert's games.

``housequest train`` starts here. In `games` the expert replaces an agent's model, each agent defines the expert's replies in
its roles, and the exchanges are collected as conversations. `run` encodes them as tokens, and `optimise` trains and writes the
adapter, which needs the extra ``[train]``. While games are played, only the examples of `games` are used, in prompts of models
that continue plain text.
"""
