"""What the built-in model is measured by, and never trained on."""

from __future__ import annotations

SETS = ("seen", "admissible", "houses", "human", "hints", "rules")
"""The sets of games that `evaluate` plays."""

HINTS = (
    "Have you tried {place}?",
    "I'd bet on {place}.",
    "Somebody left it at {place}, I believe.",
    "My guess would be {place}",
    "It could be hiding in {place}",
    "If I were you I would begin at {place}.",
    "Last night I noticed it near {place}",
    "Take a peek inside {place}",
    "Head over to {place} before you do anything.",
    "Let's see whether {place} has it",
    "Walk to {place}, please.",
    "Now over to {place}",
    "Grandma always keeps hers in {place}",
    "Peek into {place}; trust me",
    "{place} seems a good place",
    "Would you mind examining {place}?",
    "Could you have a glance at {place}?",
    "It must be lying around {place}",
    "Probably {place}.",
    "There used to be one at {place}",
    "Hmm, {place} perhaps?",
    "Listen: {place}!",
    "I would love you to investigate {place}",
    "We usually store those in {place}",
    "Rumour has it that you want {place}",
    "Your best chance is {place}",
    "Forget the rest and visit {place}",
    "The answer lies in {place}",
    "Do me a favour and inspect {place}",
    "Straight to {place} with you",
    "You'd better approach {place}",
    "Somewhere around {place} I think",
    "The children played with it by {place}",
    "Begin your search with {place}, ok?",
    "I put it away in {place} yesterday",
    "Wander across to {place}",
    "Next stop: {place}",
    "Don't you think {place} is worth a visit?",
    "Everything you need is at {place}",
    "Turn to {place} now",
)
"""Forty hints in free wording; ``{place}`` is a receptacle of the house, such as ``drawer 3``."""
