"""ALFWorld (Shridhar et al., ICLR 2021) as a world: `world` and its `expert`.

`engine` plays games natively, `reference` in a process with the original packages, `text` reads what they say, `data` finds and
fetches the published games, `houses` makes up others, `dropin` has the interface of the original package.
"""
