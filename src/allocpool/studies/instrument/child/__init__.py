"""What runs inside the processes of the instrument's own trials; the parent never imports it."""
