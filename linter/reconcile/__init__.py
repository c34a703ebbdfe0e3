"""What the linter predicted, held against what a run of the user's own reported.

    log or trace → `read` → RunLog ┐
    files → lint → findings        ├→ `judge` → Reconciliation → `report`
    sources → `statements`         ┘

Parsing and judging are pure; only `read` and `linter.reconcile_command` touch the outside.
"""
