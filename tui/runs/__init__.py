"""The runs on disk: `data` reads them as far as they are finished; `run_list`, `run_view`, `pair_view`, `matrix` and `charts`
show one or two of them on `screen`.
"""
