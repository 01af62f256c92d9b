"""The sections on contrasts: two arms on one metric in every cell.

`section.make_contrasts` makes a section for each contrast, `published.make_published` compares with claims,
`all_cells.make_all_cells` lists every estimate. `squares` and `heatmap` also draw the matrices of competing flows.
"""
