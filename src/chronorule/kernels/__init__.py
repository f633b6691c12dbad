"""Compiled loops over arrays: nothing of ours is imported here, and every kernel has a slow twin in the tests."""
