"""Model-independent numerics: Gaussian tails, truncated normals, panels between knots, Gauss rules, standard errors.

`_compiled` holds functions for compiled code; `quadrature`, `statistics` and `truncated_normal` serve NumPy code.
"""
