"""What runs inside the processes of this study's trials; the parent never imports it."""
