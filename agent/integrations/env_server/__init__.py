"""Environments for trainers, over OpenEnv's protocol and AgentGym's."""
