"""Language models: the contract (`base`), their kinds as plugins (`registry`), and a checker (`checking`).

The kinds are `builtin`, `openai`, `scripted` and, as an optional part, `llama`, whose files `gguf` checks. `forms` are what
replies are held to, `embeddings` serve to compare texts, `keys` says which key goes to which host, and `rate_limiter` how many
calls an endpoint takes.
"""
