"""Reports: a study in one HTML file, with the recommendation, its reasons, figures, trials and journal."""

from allweather.plots.report.document import report_html, write_report

__all__ = ["report_html", "write_report"]
