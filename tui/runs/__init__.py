"""The runs on disk: `data` reads them as far as they are finished; `run_view` shows one on the `screen` of all."""
