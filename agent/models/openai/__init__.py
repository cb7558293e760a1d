"""``openai:NAME``: models behind any OpenAI-compatible endpoint, with keys, retries, a rate limiter and probes."""
