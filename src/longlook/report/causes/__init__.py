"""Why an arm lost, for a reader: `text` has the words, `page` the page beside a report, `section` its line in a report.

`text.sentence` says an answer in one to three sentences and `text.answers_markdown` all of it; the command line uses
both. `page.write_explanation` writes `explain/index.html` of a run folder, with a figure of each answer as files.
"""
