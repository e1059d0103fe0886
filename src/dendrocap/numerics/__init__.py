"""Numerical building blocks without a model: Gaussian tails, truncated normals, panels between knots, quadrature rules.

`_compiled` holds what compiled code calls; `quadrature` and `truncated_normal` serve NumPy code.
"""
