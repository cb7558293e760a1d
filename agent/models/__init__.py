"""Language models: the contract (`base`), their kinds as plugins (`provider`, `registry`), and a checker (`checking`)."""
