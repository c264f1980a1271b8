"""The tests with everything taken away that macOS lacks: `make macos`, and a smoke test of a few
seconds that belongs to all tests.

    mask: what is taken away, in every process of an environment
    environment: makes such an environment
    not_there: tests that do not apply there, each with its reason
"""
