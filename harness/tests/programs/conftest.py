"""Programs are started and ended: the quick round leaves these tests out."""


def pytest_itemcollected(item):
    item.add_marker("long")
