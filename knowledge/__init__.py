"""What is known about the world, and how sure we are of it; calls no model."""
