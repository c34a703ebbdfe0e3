"""The compiler that proves fixes. It isn't here yet: this release lints only."""
