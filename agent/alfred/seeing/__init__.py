"""What an agent makes of frames, and how it moves by them (OPEx, section 3).

`perception` turns a frame into depth and detections, `semantic_map` keeps what was seen as a map from above and leads over it.
`state` is what an agent knows, the skill in progress and what each of its steps is about; `policy` turns that into actions.
"""
