"""What is known about the world, and the evidence for it. No module here calls a model.

- Rules: ``rules`` (a rule and its history), ``rulebook`` (a YAML file of rules, and books by name), ``reading`` and ``writing``
  (its text) and ``choosing`` (which rules and examples a prompt shows).
- Evidence: ``checks`` (the language of a rule's check), ``judging`` (checks against recorded moments) and ``mining``, which
  finds rules by counting, without a model.
- In-context examples: ``examples``, the store.
"""
