"""What an agent makes of frames, and how it moves by them (OPEx, section 3).

`perception` turns a frame into depth and detections, `semantic_map` keeps what was seen as a map from above, and `marching`
measures ways over it. The policy's `state` is what an agent knows and the skill in progress: `primitives` are what skills are
made of, `targets` finds what each is about, `walking` leads there, `outcomes` is what becomes of it.
"""
