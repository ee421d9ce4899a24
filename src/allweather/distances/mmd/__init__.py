"""The maximum mean discrepancy: a ball of distributions in the norm of a kernel."""
