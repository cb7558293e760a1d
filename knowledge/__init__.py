"""What is known about the world, and the evidence for it. No module here calls a model.

- Rules: ``rules`` (a rule and its history), ``rulebook`` (a YAML file of rules), ``nodes``, ``reading`` and ``writing`` (its
  text), ``library`` (books by name) and ``choosing`` (which rules a prompt shows, within a budget of tokens).
- Evidence: ``checks`` (the language of a rule's check), ``judging`` (checks against moments), ``moments`` (recorded
  commands with the belief before and after) and ``statistics``.
- Counting: ``mining`` finds rules without a model; ``renewal`` puts them into a book and refreshes them.
- In-context examples: ``examples`` (the store) and ``selection`` (which examples a task gets).
"""
