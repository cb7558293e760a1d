"""ALFWorld (Shridhar et al., ICLR 2021): the `world` and its `expert`.

`engine` plays games natively. `text` reads what they say, `games` finds the published ones, and `houses` generates new ones.
"""
