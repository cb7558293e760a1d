"""ReAct with prompts of only the last few steps, as verl-agent trains models."""
