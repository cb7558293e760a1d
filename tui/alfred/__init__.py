"""What ``housequest eval`` does for ALFRED's plans."""
