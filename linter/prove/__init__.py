"""Proving rewrites: a worker runs the original and the compiled rewrite on the same inputs."""
