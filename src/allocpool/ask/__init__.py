"""Ask: allocate or pool, for a reader's numbers, predicted at once from a design of measured workloads."""
