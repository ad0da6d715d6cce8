//! The methods CDIMC-net is compared with, each a `Clusterer` in one file with its citation.
