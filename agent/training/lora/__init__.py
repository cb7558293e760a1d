"""Low-rank adapters (LoRA, Hu et al., ICLR 2022) for language models that play: from an expert's games to a file that plays.

``housequest train`` is the way in. `teacher` stands in the place of an agent's model: `knowing` is what the expert knows, and
each agent's `demonstrations` say what it replies in each role. `games` collects what was asked and answered as conversations,
`tokens` writes them as tokens, `optimise` trains, and `adapter` writes llama.cpp's format. Needs the extra ``[train]`` from
`tokens` on. Nothing here runs while a game is played, but `worked`: the examples that a model is shown which continues plain
text.
"""
