"""The origin of the programs of trials: everything that was downloaded for them, its digest, and who vouches for it.

Nothing is fetched or built here: lock files, build records and programs are read as they are.

Entry points: `made.of_part`, `made.of_kernel`, `made.of_wheels`, `made.of_libclang`, `videos.of_encoder`,
`videos.of_players` and `videos.of_decoder`, which return their subject as `Made`, and `made.all_made`.
"""
