"""What TorchDynamo itself says about a piece of code: the truth the rules are tested against."""
