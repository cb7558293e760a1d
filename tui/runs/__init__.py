"""The runs on disk: `data` reads them as far as they are finished; `run_list` and `run_view` show them on `screen`."""
