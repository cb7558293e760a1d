"""``llama:FILE``: models in GGUF files, run on this machine by llama.cpp in their own process."""
