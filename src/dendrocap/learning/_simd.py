"""A vector type for Numba that holds sixteen numbers.

Numba's own vectoriser loses two thirds of the speed of the training step, because the sums over synapses have to
stay in registers while the bits of the pattern select the branches (140 ns against 445 ns per step, see
docs/results/learning_speed.md). Here a `Vector` is an ordinary value in compiled code: ``a + b``,
``where(bits, a, b)`` or ``fma(a, b, c)`` act on sixteen lanes at once, in float32 or in float64. LLVM maps
them to the registers of the processor, be it one of 512 bits or four of 128.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, njit, types
from numba.core import cgutils
from numba.extending import models, overload, register_model

from dendrocap.learning.engine import LANES

# Numba's own annotation counts the typing context as an argument.
intrinsic: Any = extending.intrinsic
Codegen = Callable[..., Any]
_INDEX = ir.IntType(32)


class Vector(types.Type):
    """The Numba type of sixteen numbers of one floating type."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Vector({dtype}, {LANES})")

    @property
    def element(self) -> ir.Type:
        """The LLVM type of one lane."""
        return ir.FloatType() if self.dtype == types.float32 else ir.DoubleType()


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: Vector) -> None:
        super().__init__(manager, vector, ir.VectorType(vector.element, LANES))


@intrinsic
def pointer(typing: Any, array: Any) -> tuple[Any, Codegen]:
    """Pointer to the first number of a contiguous array.

    A pointer is indexed like a flat array. Inside a loop it is cheaper than an array: Numba counts references to
    arrays whenever they are sliced or passed to a function, which doubled the time of a training step.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.make_array(array)(context, builder, value=args[0]).data

    return types.CPointer(array.dtype)(array), codegen


def _lanes_at(builder: Any, start: Any, index: Any) -> Any:
    vector = ir.VectorType(start.type.pointee, LANES)
    return builder.bitcast(builder.gep(start, [index]), vector.as_pointer())


@intrinsic
def shifted(typing: Any, start: Any, index: Any) -> tuple[Any, Codegen]:
    """A pointer to an index of another pointer."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.gep(args[0], [args[1]])

    return start(start, types.intp), codegen


@intrinsic
def load(typing: Any, start: Any, index: Any) -> tuple[Any, Codegen]:
    """The sixteen numbers that start at an index."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_lanes_at(builder, *args), align=start.dtype.bitwidth // 8)

    return Vector(start.dtype)(start, types.intp), codegen


@intrinsic
def store(typing: Any, start: Any, index: Any, vector: Any) -> tuple[Any, Codegen]:
    """Write sixteen numbers, starting at an index."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _lanes_at(builder, *args[:2]), align=start.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(start, types.intp, vector), codegen


@intrinsic
def spread(typing: Any, number: Any) -> tuple[Any, Codegen]:
    """The same number in all lanes."""
    vector = Vector(number)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        nothing = ir.Constant(ir.VectorType(vector.element, LANES), ir.Undefined)
        first = builder.insert_element(nothing, args[0], _INDEX(0))
        return builder.shuffle_vector(first, nothing, _indices([0] * LANES))

    return vector(number), codegen


@intrinsic
def where(typing: Any, bits: Any, chosen: Any, otherwise: Any) -> tuple[Any, Codegen]:
    """Lane l of ``chosen`` if bit l is set, of ``otherwise`` if it is not."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        mask = builder.bitcast(args[0], ir.VectorType(ir.IntType(1), LANES))
        return builder.select(mask, args[1], args[2])

    return chosen(types.uint16, chosen, chosen), codegen


@intrinsic
def where_less(typing: Any, x: Any, y: Any, chosen: Any, otherwise: Any) -> tuple[Any, Codegen]:
    """``chosen`` in the lanes where x < y, ``otherwise`` in all others, including those with NaN."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", args[0], args[1]), args[2], args[3])

    return x(x, x, x, x), codegen


@intrinsic
def fma(typing: Any, a: Any, b: Any, c: Any) -> tuple[Any, Codegen]:
    """``a * b + c``, rounded once if the processor supports it."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _llvm_function(builder, "fmuladd", args)

    return a(a, a, a), codegen


@intrinsic(prefer_literal=True)
def rotate(typing: Any, vector: Any, places: Any) -> tuple[Any, Codegen] | None:
    """Lane l of the result is lane l + ``places`` of the argument, cyclically; ``places`` is a literal."""
    if not isinstance(places, types.IntegerLiteral):
        return None
    turned = [(lane + places.literal_value) % LANES for lane in range(LANES)]

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.shuffle_vector(args[0], args[0], _indices(turned))

    return vector(vector, places), codegen


@intrinsic
def total(typing: Any, vector: Any) -> tuple[Any, Codegen]:
    """Sum over the lanes, by halves: four successive additions rather than sixteen."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rest, width = args[0], LANES
        while width > 1:
            width //= 2
            low, high = _indices(range(width)), _indices(range(width, 2 * width))
            rest = builder.fadd(builder.shuffle_vector(rest, rest, low), builder.shuffle_vector(rest, rest, high))
        return builder.extract_element(rest, _INDEX(0))

    return vector.dtype(vector), codegen


@intrinsic
def _nearest_integer(typing: Any, x: Any) -> tuple[Any, Codegen]:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _llvm_function(builder, "rint", args)

    return x(x), codegen


@intrinsic
def _power_of_two(typing: Any, exponent: Any) -> tuple[Any, Codegen]:
    """2**n in float32, for whole n from -126 to 127, by setting the bits of the exponent."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        whole = ir.VectorType(ir.IntType(32), LANES)
        biased = builder.add(builder.fptosi(args[0], whole), ir.Constant(whole, [127] * LANES))
        return builder.bitcast(builder.shl(biased, ir.Constant(whole, [23] * LANES)), args[0].type)

    return exponent(exponent), codegen


@intrinsic
def _library_exponential(typing: Any, x: Any) -> tuple[Any, Codegen]:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _llvm_function(builder, "exp", args)

    return x(x), codegen


@njit
def _single(x: float) -> Any:
    return spread(np.float32(x))


@njit
def _exponential32(x: Any) -> Any:
    # e^x = 2^n e^r with |r| <= ln(2) / 2; ln(2) is subtracted in two parts so that r is exact to the last bit.
    # Coefficients of the remainder: Cephes expf, relative error below 2e-7.
    x = where_less(x, _single(-87.0), _single(-87.0), x)
    x = where_less(_single(88.0), x, _single(88.0), x)
    n = _nearest_integer(x * _single(1.44269504088896341))
    r = fma(n, _single(2.12194440e-4), fma(n, _single(-0.693359375), x))
    p = fma(_single(1.9875691500e-4), r, _single(1.3981999507e-3))
    p = fma(p, r, _single(8.3334519073e-3))
    p = fma(p, r, _single(4.1665795894e-2))
    p = fma(p, r, _single(1.6666665459e-1))
    p = fma(p, r, _single(5.0000001201e-1))
    return fma(p, r * r, r + _single(1.0)) * _power_of_two(n)


def exponential(x: Any) -> Any:
    """e**x. In float32 a polynomial, with x limited to [-87, 88]; in float64 the function of the C library."""
    raise NotImplementedError("exponential works only in compiled code")


@overload(exponential, strict=False)
def _exponential(x: Any) -> Any:
    if x.dtype == types.float32:
        return lambda x: _exponential32(x)
    return lambda x: _library_exponential(x)


def _indices(lanes: Any) -> Any:
    chosen = list(lanes)
    return ir.Constant(ir.VectorType(_INDEX, len(chosen)), chosen)


def _llvm_function(builder: Any, name: str, args: Any) -> Any:
    kind = args[0].type
    suffix = f"v{LANES}f32" if isinstance(kind.element, ir.FloatType) else f"v{LANES}f64"
    signature = ir.FunctionType(kind, [kind] * len(args))
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, f"llvm.{name}.{suffix}"), args)


def _arithmetic(symbol: Any, instruction: str) -> None:
    """Define ``symbol`` for two vectors by one LLVM instruction."""

    @intrinsic
    def apply(typing: Any, a: Any, b: Any) -> tuple[Any, Codegen]:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return getattr(builder, instruction)(*args)

        return a(a, a), codegen

    @overload(symbol, strict=False)
    def _apply(a: Any, b: Any) -> Any:
        if isinstance(a, Vector) and isinstance(b, Vector):
            return lambda a, b: apply(a, b)
        return None


_arithmetic(operator.add, "fadd")
_arithmetic(operator.sub, "fsub")
_arithmetic(operator.mul, "fmul")
_arithmetic(operator.truediv, "fdiv")
