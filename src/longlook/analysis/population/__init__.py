"""Effects over a population of users: files of users → users → the cells of a run that stand for them → answers.

`people` has the types, `tables` reads measurements, `making` puts a file together, `places` finds the cell that is
nearest to each user, `answers` gives distributions over users with their intervals.
"""
