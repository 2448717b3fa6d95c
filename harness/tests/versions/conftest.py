"""Several versions are judged: the quick round leaves these tests out."""


def pytest_itemcollected(item):
    item.add_marker("long")
