"""Programs for developers of housequest: recording, counting, measuring. Not part of the installed package."""
