"""Language models behind one contract."""
