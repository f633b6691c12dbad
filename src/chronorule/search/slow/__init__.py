"""What a rule is worth, by the definitions of design 2 to 6 alone, for checking what searches claim (design 7).

Every rule of a grammar is listed, every event is tried for every variable, λ is added up piece by piece, and the best
weight is found by halving. It is written to be read beside the design, not to be fast. It imports nothing of ours, so
that a mistake of the searches, of their prices or of what they stand on cannot repeat itself here.
"""
