"""Language models in GGUF files, run on this machine in a process of their own."""
