"""The trial process: it imports little, measures one configuration, writes one file and ends.

The parent imports nothing of it but `native`: a JVM starts once per process, and a parent must outlive its child.
"""
