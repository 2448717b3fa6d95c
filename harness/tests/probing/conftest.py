"""Nodes are started, and their habits learnt by waiting: the quick round leaves these tests out."""


def pytest_itemcollected(item):
    item.add_marker("long")
