"""``allocpool compare``: decide between two sides by anybody's trials."""
