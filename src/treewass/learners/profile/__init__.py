"""The default learner: profiles of words over classes, a tree over them, refined masses."""
