"""The figures and tables of the papers, one module per paper."""
