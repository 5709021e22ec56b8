"""A study that is made up: how long does a sum take?"""
