"""The command ``cdimc``, a package of its own so that it starts at once, without NumPy and scikit-learn."""
