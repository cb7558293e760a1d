"""The roles of language models: a prompt and a parser each."""
