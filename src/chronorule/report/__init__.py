"""Reports of models: records for programs, and one page of HTML, drawn from these, for people."""

from chronorule.report.page import report_page
from chronorule.report.records import report_records
from chronorule.report.write import write_report

__all__ = ["report_page", "report_records", "write_report"]
