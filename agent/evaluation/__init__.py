"""Many episodes under one frozen configuration, and what they come to."""
