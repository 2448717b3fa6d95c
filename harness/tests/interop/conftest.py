"""Several nodes are started at a time: the quick round leaves these tests out."""


def pytest_itemcollected(item):
    item.add_marker("long")
