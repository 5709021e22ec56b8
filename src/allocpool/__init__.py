"""Allocate a fresh buffer for every message, or take one from a pool: an instrument that measures it."""
