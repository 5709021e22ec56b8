"""Many threads: who frees what another one allocated?"""
