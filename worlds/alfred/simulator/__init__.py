"""A simulated household with AI2-THOR's actions: the contract (`base`), boxes as a stand-in (`boxes`, with their `layout`), and
AI2-THOR itself (`thor`)."""
