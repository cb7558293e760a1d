"""``housequest modules``: PET's figures for its modules."""
