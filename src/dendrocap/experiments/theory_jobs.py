"""Jobs of the theory that need more than flat parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.model.flat import neuron_from_flat
from dendrocap.theory import TeacherStudent
from dendrocap.theory import teacher_student as student_of

__all__ = ["teacher_student"]


def teacher_student(
    neuron: NeuronSpec, task: TaskSpec, alpha: float, *, teacher: Mapping[str, Any] | None = None
) -> TeacherStudent:
    """Generalisation of a student, computed by `dendrocap.teacher_student`.

    ``teacher`` is a table of flat parameters; parameters that it does not give are those of the student.
    """
    other = None if teacher is None else neuron_from_flat(teacher, neuron)
    return student_of(neuron, task, alpha=alpha, teacher=other)  # type: ignore[arg-type]
