"""What the pages tell, computed from tidy tables: cells, claims, tables and sentences. Runs nothing."""
