"""Benchmarks, run by hand: `python -m tests.benchmarks` prints every table and keeps the raw results.

Each compares things side by side in one run, in rounds that take turns, and gives ratios with their spread: the
times of one machine mean little on another. Needs `pip install 'emqsim[test,bench]'`.
"""
