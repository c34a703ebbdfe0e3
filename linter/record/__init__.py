"""Recording what regions are called with, while a command of the user's runs."""
