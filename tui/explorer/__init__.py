"""``housequest explore``: rules learned from play."""
