"""What every household world shares, independent of its texts: belief, goals, counts of what lies where, masking."""
