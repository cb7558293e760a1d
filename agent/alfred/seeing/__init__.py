"""Perception and action from camera frames (OPEx, section 3).

`perception` turns a frame into depth and detections, and `semantic_map` keeps these as a map from above and finds paths on it.
`state` holds an agent's knowledge and the skill in progress, and finds the objects that steps need. `policy` chooses actions.
"""
