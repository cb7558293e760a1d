"""Programs for those who work on housequest: recording, counting, measuring. Not part of the installed package."""
