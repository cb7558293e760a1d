"""A recorded episode: `screen` shows it and moves through it."""
