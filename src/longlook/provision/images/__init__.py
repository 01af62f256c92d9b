"""Reads container images, checks them and unpacks them into the cache, without a daemon and without privileges.

`resolve.image_named` takes what people write behind `image:`, and returns the record of an image in the cache. Nothing
of an image is executed here, and nothing that it says is followed out of its own root.
"""
