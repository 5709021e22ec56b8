"""What a trial states, one module per family of modes: plain data, checked before anything starts."""
