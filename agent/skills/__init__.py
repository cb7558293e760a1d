"""Skills: what a planner asks for in one breath ("find a mug"), and what turns it into text commands from belief alone."""
