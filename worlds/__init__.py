"""What can be played: tasks, environments, and what is observed in them. Imports nothing else of housequest."""
