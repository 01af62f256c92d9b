"""`longlook atlas --site`: the atlas as a static site, a page for each paper, study and dispute.

docs/guide/atlas-site.md has its options and its marks.

`build.build_site` draws it of the content of an atlas: `findings` are the sentences of its first page, `pages` draws
the pages with the parts of the one page, `pictures` the pictures that are shared, `words` the index of its search.
`links` looks for links that lead nowhere, and `write` puts the site in place as a whole. Nothing is run.
"""
