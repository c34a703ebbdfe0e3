"""What compile-lint knows about torch.compile: the rules, and the facts about torch they use."""
