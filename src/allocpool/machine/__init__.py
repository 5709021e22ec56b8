"""What this machine is, has and allows. Standard library only where set-up needs it before anything is installed."""
