"""Jobs of the theory that flat parameters describe only in part."""

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
    """Generalisation of a student, as `dendrocap.teacher_student` finds it.

    ``teacher`` is a table of flat parameters; what it leaves open is as in the student, all of it if there is none.
    """
    other = None if teacher is None else neuron_from_flat(teacher, neuron)
    return student_of(neuron, task, alpha=alpha, teacher=other)  # type: ignore[arg-type]
