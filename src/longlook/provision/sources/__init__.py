"""Copies sources that are no release into the cache: a folder, a commit of a local repository, a release with patches.

`resolve.version_of` takes what people write behind `@`, and returns the name of a version. All that is read is copied
first, so that nothing is built from files that change. Nothing is ever written where the sources are.
"""
