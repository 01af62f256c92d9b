"""The sections on competing flows: each flow's rate over time, and what each arm got.

`section.make_flow_section` draws rates over time, `shares.make_shares` shares against a factor, `medians.make_matrix`
medians of every arm.
"""
