"""ALFWorld's texts: observations and goals read into values of `worlds.household`, and refusals explained."""
