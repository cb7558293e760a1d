"""A recorded episode: `recording` reads it, `timeline` moves through it, `screen` shows it."""
