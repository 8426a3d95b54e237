"""The job of the cluster tests is no test: it is submitted, beside a module that is shipped with it."""

collect_ignore = ["job.py"]
