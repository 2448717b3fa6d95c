"""Our codec with one fault at a time: what the vectors alone notice of it.

`engine` plants a fault and takes it back, `facts` makes one for each layout that a requirement tells, `by_hand` holds
faults that people make.
"""
