"""Facts about what captured code computes, by abstract interpretation of its syntax trees."""
