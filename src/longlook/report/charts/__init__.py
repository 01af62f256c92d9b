"""The look that all charts and pages share.

`colours` has the palettes, `theme` the Vega-Lite configuration, `drawn.Drawn` charts of many rows, `labels.apart` the
places of labels, `export.export_figure` writes a chart as files. Every other package of the report uses it.
"""
