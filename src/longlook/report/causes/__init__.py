"""Why an arm lost, for a reader: `text` has the words, `page` the page beside a report, `section` its line in a report.

`text.sentence` says an answer in one to three sentences and `text.answers_markdown` all of it; `searched` says what was
tried beyond what traces show. The command line uses all of them. `page.write_explanation` writes `explain/index.html`
of a run folder, with a figure of each answer as files.
"""
