"""Faulty nodes are judged by every check that should catch them: the quick round leaves these tests out."""


def pytest_itemcollected(item):
    item.add_marker("long")
