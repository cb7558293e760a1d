"""ALFWorld (Shridhar et al., ICLR 2021): the `world` and its `expert`.

`engine` plays games natively. `text` reads what they say, and `diagnosis` explains why a command was refused. `games` finds the
published ones, `exchange` fetches, imports and exports, and `houses` generates new ones.
"""
