"""What runs inside the trials of this study."""
