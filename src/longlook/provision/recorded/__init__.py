"""Recorded pages: an HTTP Archive of any tool → what to serve and to ask for, kept by its digest. Standard library.

`har.read_har` reads a file, `dependences.after_what` finds what each object waited for, `page.recorded_page` makes the
page that trials load, and `store` keeps pages in the cache and in run folders.
"""
