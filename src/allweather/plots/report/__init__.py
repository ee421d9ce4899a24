"""A study in one file to send to a colleague: the decision, why, the figures, and what reproduces it."""

from allweather.plots.report.document import report_html, write_report

__all__ = ["report_html", "write_report"]
