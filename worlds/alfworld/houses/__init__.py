"""Made-up houses: by which habits things lie where, a house for every seed, and its export as a published game."""
