"""The published games: names, files, downloads, checks and counts."""
