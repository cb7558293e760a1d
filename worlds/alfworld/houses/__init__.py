"""Made-up houses, one for every seed, by habits of where things lie."""
