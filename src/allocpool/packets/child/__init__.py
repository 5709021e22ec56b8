"""What runs inside the processes of trials of the packets workload; the parent never imports it."""
