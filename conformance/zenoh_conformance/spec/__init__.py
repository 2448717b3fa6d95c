"""The specification as data: pages, requirements, errata, their lock and their coverage."""
