"""Knowledge about the world, with its evidence. No module here calls a model.

- Rules: ``rules`` (a rule, its history and the language of its check), ``rulebook`` (a YAML file of rules, and books by name),
  ``page`` (its text) and ``choosing`` (which rules and examples a prompt shows).
- Evidence: ``judging`` (checks against recorded moments) and ``mining``, which finds rules by counting, without a model.
- In-context examples: ``examples``, the store.
"""
