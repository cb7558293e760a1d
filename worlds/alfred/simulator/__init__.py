"""A simulated household, by AI2-THOR's actions: its contract (`base`), boxes as a stand-in
(`boxes`, put up by `layout`), AI2-THOR itself (`thor`), and what both say of things (`metadata`)."""
