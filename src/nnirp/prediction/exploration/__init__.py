"""Searching a design space by prediction: thousands of variants of a builder, few of them traced, none of them run."""
