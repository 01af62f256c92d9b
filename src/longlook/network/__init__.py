"""The emulated path: settings as people write them become a `Link`, and a `Link` the configuration of its router.

`settings.link(settings)` returns the `Link` of settings in canonical form and raises SettingError, with the setting's
key, if they make none or the router refuses it; `settings.SETTINGS` has every setting with its parser.
`config.link_text(link, seed, linger_ns)` returns the JSON that `longlook-link` reads, and `config.linger_of(link)` how
long silence must last before the link is empty. `presets.PRESETS` are paths from published work,
`surgery.with_surgery(link, up, down)` returns a link with operations on single packets.
`trace_store.digest_of(path, role)` reads a recorded trace into the cache, and `varying` evaluates parameters that
change with time. Every later package may use these modules; `config`, `varying` and `trace_store` are light enough for
a guest.

`tables.read_table(data, reading, name)` makes a trace of a table of measurements, which
`table_files` reads in the forms that people have, for `longlook link`. `study` also
imports `stages` (what settings become), `extra_links` (settings of links beside the
main one), `traces` (parsers of recorded paths) and `values` (how values are written).
"""
