"""The trial process. It imports little, measures one configuration, writes one file and ends.

Nothing here is imported by the parent: a JVM starts once per process and never again, and a parent must outlive a
child that crashes.
"""
