"""The command ``cdimc``, in a package of its own so that it starts fast, without NumPy and scikit-learn."""
