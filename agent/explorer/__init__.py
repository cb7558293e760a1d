"""OPEx's explorer: plays, sums up what it lived through as rules, filters and checks them, and writes a rulebook."""
