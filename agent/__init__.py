"""Who plays: agents, their roles and models, the episode loop and its records."""
