"""``dendrocap teacher-student``: generalisation errors of a student that learns from a teacher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from dendrocap.cli.option_groups import spread
from dendrocap.cli.output import CsvFlag, JsonFlag, PlotPath
from dendrocap.cli.theory_grid import GridOptions, fields_of, run

if TYPE_CHECKING:
    from dendrocap.model import NeuronSpec

__all__ = ["teacher_student"]

ERRORS = {"gibbs_error": "one student (Gibbs)", "bayes_error": "all students vote (Bayes)"}
NOTE = (
    "Probability of a wrong answer to an unseen pattern, for students that make no error on the learned patterns and "
    "have infinitely many long, equal branches. Exact if student and teacher have the same form, replica symmetric "
    "otherwise."
)
CROSSING = "crossing load: above it, a student of the teacher's form generalises better than this one."


@dataclass(frozen=True, kw_only=True)
class StudentGrid(GridOptions):
    """A grid of students."""

    parameters: ClassVar[tuple[str, ...]] = ("alpha", *GridOptions.parameters)

    alpha: Annotated[str, typer.Option(help="Patterns learned per synapse, >= 0.", metavar="VALUES")] = "1"


@dataclass(frozen=True, kw_only=True)
class TeacherOptions:
    """The neuron that gives the labels; options that are not given are those of the student."""

    panel: ClassVar[str] = "Teacher (by default as the student)"

    teacher: Annotated[str | None, typer.Option(help="Its g: polsky, relu, saturating-relu or linear.")] = None
    teacher_theta_d: Annotated[float | None, typer.Option(help="Its dendritic threshold, > 0.")] = None
    teacher_theta_s: Annotated[float | None, typer.Option(help="Its somatic threshold, inside the range of g.")] = None
    teacher_x_min: Annotated[float | None, typer.Option(help="Polsky: where its sigmoid starts.")] = None
    teacher_gamma: Annotated[float | None, typer.Option(help="Polsky: its steepness, > 0.")] = None

    def of(self, student: NeuronSpec) -> NeuronSpec:
        """The teacher of a student."""
        from dendrocap.model.flat import neuron_from_flat

        names = {"teacher": "nonlinearity"}
        given = {names.get(key, key.removeprefix("teacher_")): value for key, value in vars(self).items()}
        flat = {name: value for name, value in given.items() if value is not None}
        return neuron_from_flat(flat, student)  # type: ignore[return-value]


@spread
def teacher_student(
    grid: StudentGrid,
    teacher: TeacherOptions = TeacherOptions(),
    crossing: Annotated[
        bool,
        typer.Option("--crossing", help="Also find the load above which a student of the teacher's form is better."),
    ] = False,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Compute the generalisation errors of a student that learns the answers of a teacher.

    Every parameter of the student takes a number, a list 0.1,0.2,0.5 or a range start:stop:count.

    Example: dendrocap teacher-student -g linear,polsky --teacher polsky --alpha 0.1:2.5:25 --plot teacher.png
    """
    from dendrocap.theory.parameter_grids import taught_points

    teacher.of(_any_student())  # a bad option is reported before anything is computed
    names = ["estimate", *ERRORS, "Q", "q", "R", "Q_teacher", "q_hat", "R_hat", "A_hat", "M_hat", "residual"]

    def described(listed: list[str]) -> Any:
        fields = fields_of(listed)

        def of(solution: Any) -> dict[str, Any]:
            found, load = (None, None) if solution is None else solution
            return {**fields(found), **({"crossing_load": load} if crossing else {})}

        return of

    run(
        grid,
        lambda neuron, **numbers: taught_points(neuron, teacher=teacher.of, crossing=crossing, **numbers),
        described(names),
        described([*ERRORS, "q", "R", "estimate"]),
        as_json=as_json,
        as_csv=as_csv,
        plot=plot,
        y=ERRORS,
        y_label="generalisation error",
        notes=lambda: [NOTE, *([CROSSING] if crossing else [])],
    )


def _any_student() -> NeuronSpec:
    from dendrocap.model import NeuronSpec, Polsky

    return NeuronSpec(Polsky(), 0.5, 0.5)
