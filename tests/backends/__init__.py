"""Real servers for tests: an OpenAI-compatible endpoint on loopback, its misbehaviours, and policies that play from prompts."""
