"""The builders of rewrites that rules share, each with what it declines and why."""
