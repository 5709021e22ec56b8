"""Study 9: a message workload whose parameters are the reader's own."""
