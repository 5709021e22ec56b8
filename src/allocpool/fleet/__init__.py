"""The same plan on many machines, through Dask distributed; each machine is a block."""
