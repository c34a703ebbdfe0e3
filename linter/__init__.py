"""How compile-lint looks: files → regions → facts → findings → reports."""
