"""Numerical building blocks without a model: tails, truncated normals, panels between knots, Gauss rules, errors.

`_compiled` holds what compiled code calls; `quadrature`, `statistics` and `truncated_normal` serve NumPy code.
"""
