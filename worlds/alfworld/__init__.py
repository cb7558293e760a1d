"""ALFWorld (Shridhar et al., ICLR 2021): the `world` and its `expert`.

`engine` plays games natively, `reference` with the original packages in another process. `text` reads observations, `data`
finds and fetches the published games, `houses` generates new ones, `dropin` offers the original package's interface.
"""
