"""ReAct as its authors played ALFWorld: two exemplars of the task's type, one line a reply, thoughts answered with "OK."."""
