"""The bounds of what is read of an image. Beyond them it is refused before it can fill a disk or this process."""

MOST_BYTES = 8 << 30
"""All files of an image together, unpacked, and the archive itself."""
MOST_FILE_BYTES = 4 << 30
"""One file of it."""
MOST_ENTRIES = 500_000
"""Files, folders, links and removals of all layers, and entries of the archive."""
MOST_LAYERS = 500
MOST_JSON_BYTES = 4 << 20
"""An index, a manifest or a configuration."""
MOST_LINKS = 40
"""Symbolic links that one path may lead through, as in Linux."""
MOST_WRITABLE = 2_000
"""Folders in which the image's program may make files."""
MOST_RESULTS_BYTES = 192 << 20
"""All files that its program is asked for as a client; they lie in a guest's memory, beside its temporary files."""
CACHE_BYTES = 20 << 30
"""All unpacked images of the cache; beyond that the longest unused are removed."""
