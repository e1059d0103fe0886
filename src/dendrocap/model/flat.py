"""Conversion of neurons, tasks and non-linearities to and from flat parameters: keys of TOML files, options and JSON.

Flat parameters are plain data with the names of the paper: ``nonlinearity`` and its own parameters, ``theta_d``,
``theta_s``, ``n_inputs``, ``n_branches``, ``f_in``, ``f_out``, ``kappa``. Inhibition is ``inhibitory_share``,
``inhibitory_drive`` and ``inhibitory_f_in``. ``populations`` is a list of tables, one for each population; parameters
that a population does not give are those of the neuron, so that they can be an axis of a sweep. The learning rule has
its own parameters in `dendrocap.learning.Recipe`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

from dendrocap.errors import InvalidParameter
from dendrocap.model.curves import PiecewiseCubic
from dendrocap.model.dendritic_neuron import DendriticNeuron, LinearNeuron
from dendrocap.model.neuron import Bounded, Branches, Inhibition, NeuronSpec, Ridge, TaskSpec
from dendrocap.model.nonlinearities import Nonlinearity, named_nonlinearity
from dendrocap.validation import Fact, facts_of, refuse


def _parameters(kind: type[Any]) -> list[str]:
    return [field.name for field in fields(kind) if field.init]


# The package's own, of which those that are made of points have no defaults.
KINDS = tuple(kind for kind in Nonlinearity.registered.values() if kind.__module__.startswith("dendrocap."))
MEASURED: dict[str, type[Any]] = {kind.name: kind for kind in KINDS if issubclass(kind, PiecewiseCubic)}
SHAPE = tuple(dict.fromkeys(name for kind in KINDS for name in _parameters(kind)))
INHIBITION = tuple(f"inhibitory_{name}" for name in _parameters(Inhibition))
# Parameters common to all branches of a kind; they belong to a neuron with a single kind, or to each population.
OF_BRANCHES = ("nonlinearity", *SHAPE, "theta_d", *INHIBITION)
POPULATION = (*OF_BRANCHES, "fraction", "length", "f_in", "mean_output")
NEURON = (*OF_BRANCHES, "populations", "theta_s", "n_inputs", "n_branches", "group_size")
TASK = tuple(_parameters(TaskSpec))

# What the numbers are that describe a neuron, a task, or where a question is asked; by their flat names.
FACTS: dict[str, Fact] = {
    name: known
    for kind, prefix in (
        (NeuronSpec, ""),
        *((kind, "") for kind in KINDS),
        (TaskSpec, ""),
        (Inhibition, "inhibitory_"),
        (Bounded, ""),
        (Branches, ""),
        (DendriticNeuron, ""),
    )
    for name, known in ((prefix + name, known) for name, known in facts_of(kind).items())
} | {
    "ridge": facts_of(Ridge)["strength"],
    "alpha": Fact("load", r"\alpha = P / N", "patterns per synapse", "[0, inf)", "Load P / N", usual=(0.05, 5.0)),
    "rsb": Fact(
        "steps of breaking", "k", "steps", help="Steps of replica symmetry breaking, 0,1,2,full; 0 as in the paper"
    ),
    "branch_size": Fact("synapses per branch", "n", "synapses", help="Synapses of each of equal branches", log=True),
    "flips": Fact(
        "flip probability", r"\rho", within="[0, 1]", help="Probability that an input flips", usual=(0.0, 0.5)
    ),
    "synaptic": Fact(
        "amplitude of synaptic noise", r"\sigma", within="[0, inf)",
        help="Amplitude of synaptic noise, which multiplies each weight by 1 + amplitude z",
    ),
    "gamma_ce": Fact(
        "steepness of the loss", r"\gamma_{\mathrm{ce}}", "1 / somatic input", "(0, inf)",
        "Steepness of the cross-entropy", log=True,
    ),
    "temperature": Fact(
        "temperature", "T", within="[0, inf)", help="T: a wrong pattern counts with exp(-1/T), rather than not at all"
    ),
    "output_noise": Fact(
        "noise at the soma", r"\sigma", "somatic input", "[0, inf)", "Standard deviation of Gaussian noise at the soma"
    ),
    "reference_kappa": Fact(
        "margin of the reference", unit="somatic input", within="[0, inf)",
        help="Margin of the reference; that of the task if not given",
    ),
    "distance": Fact(
        "squared distance", r"|W - \tilde W|^2 / |\tilde W|^2", "squared norm of the reference",
        help="Squared distance from the reference, relative to its squared norm, >= 1e-5", log=True,
    ),
}  # fmt: skip


def flat_nonlinearity(nonlinearity: Nonlinearity) -> dict[str, Any]:
    """A non-linearity as flat parameters; a Python function has none."""
    if type(nonlinearity) not in KINDS:
        raise refuse("nonlinearity", nonlinearity, "built in or made of points: a Python function cannot be stored")
    shape = {name: getattr(nonlinearity, name) for name in _parameters(type(nonlinearity))}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in shape.items()}
    return {"nonlinearity": nonlinearity.name, **plain}


def nonlinearity_from_flat(flat: Mapping[str, Any]) -> Nonlinearity:
    """The non-linearity described by flat parameters."""
    shape = {name: value for name, value in flat.items() if name != "nonlinearity"}
    name = flat.get("nonlinearity", "polsky")
    if name in MEASURED:
        kind: type[Nonlinearity] = MEASURED[name]
        _refuse_unknown(shape, name, _parameters(kind))
        if not {"x", "y"} <= shape.keys():
            raise InvalidParameter(f"nonlinearity = {name!r} needs values for x and y")
        return kind(**shape)
    return named_nonlinearity(name, **shape)


def flat_neuron(neuron: NeuronSpec | DendriticNeuron) -> dict[str, Any]:
    """A neuron as flat parameters."""
    if isinstance(neuron, LinearNeuron):
        return {**_flat_branches(neuron.kinds[0]), "n_inputs": neuron.n_inputs}
    spec = neuron.spec if isinstance(neuron, DendriticNeuron) else neuron
    if spec.n_levels != 1:
        raise refuse("n_levels", spec.n_levels, "1 in flat parameters")
    if spec.populations:
        flat: dict[str, Any] = {"populations": [_flat_population(one) for one in spec.populations]}
    else:
        flat = _flat_branches(spec.kinds[0])
    flat["theta_s"] = spec.theta_s
    if isinstance(neuron, DendriticNeuron):
        flat |= {"n_inputs": neuron.n_inputs, "n_branches": neuron.n_branches}
        if neuron.group_size != 1:
            flat["group_size"] = neuron.group_size
    return flat


def neuron_from_flat(flat: Mapping[str, Any], default: NeuronSpec | None = None) -> NeuronSpec | DendriticNeuron:
    """The neuron described by flat parameters; those that are not given are taken from ``default``.

    With ``n_inputs`` it has a finite size; with ``nonlinearity = "linear"`` and without ``n_branches`` it is then the
    linear neuron without dendrites.

    Examples
    --------
    >>> neuron_from_flat({"nonlinearity": "relu", "theta_d": 0.1, "theta_s": 0.5})
    NeuronSpec(nonlinearity=ReLU(), theta_d=0.1, theta_s=0.5)
    >>> neuron_from_flat({"nonlinearity": "linear", "theta_d": 0.5, "n_inputs": 99})
    LinearNeuron(theta_d=0.5, n_inputs=99)
    >>> basal, apical = {"theta_d": 0.2, "fraction": 0.7}, {"nonlinearity": "relu", "theta_d": 0.5, "fraction": 0.3}
    >>> neuron_from_flat({"populations": [basal, apical], "theta_s": 0.5}).n_populations
    2
    """
    _refuse_unknown(flat, "a neuron", NEURON)
    if "populations" in flat:
        return _several_kinds(flat)
    if default is not None:
        flat = _completed(flat, flat_neuron(default))
    linear = flat.get("nonlinearity") == "linear" and "n_inputs" in flat and "n_branches" not in flat
    for name in ("theta_d",) if linear else ("theta_d", "theta_s"):
        if name not in flat:
            raise InvalidParameter(f"the neuron needs a value for {name}")
    if linear:
        _refuse_unknown(flat, "the linear neuron", ("nonlinearity", "theta_d", "n_inputs", *INHIBITION))
        return LinearNeuron(flat["theta_d"], flat["n_inputs"], inhibition_from_flat(flat))
    spec = NeuronSpec(_own_nonlinearity(flat), flat["theta_d"], flat["theta_s"], inhibition=inhibition_from_flat(flat))
    return _with_size(spec, flat)


def _several_kinds(flat: Mapping[str, Any]) -> NeuronSpec | DendriticNeuron:
    """A neuron with several populations."""
    if "theta_s" not in flat:
        raise InvalidParameter("the neuron needs a value for theta_s")
    tables = flat["populations"]
    if isinstance(tables, str | Mapping) or not all(isinstance(one, Mapping) for one in tables):
        raise refuse("populations", tables, "a list of tables")
    common = {name: flat[name] for name in OF_BRANCHES if name in flat}
    kinds = tuple(_population_from_flat(_completed(one, common)) for one in tables)
    return _with_size(NeuronSpec(populations=kinds, theta_s=flat["theta_s"]), flat)


def _completed(flat: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """Flat parameters completed by defaults; parameters of a different default non-linearity are not used."""
    if "nonlinearity" in flat:
        usual = {name: value for name, value in usual.items() if name not in SHAPE}
    return {**usual, **flat}


def _with_size(spec: NeuronSpec, flat: Mapping[str, Any]) -> NeuronSpec | DendriticNeuron:
    if "n_inputs" not in flat:
        return spec
    if "n_branches" not in flat:
        raise InvalidParameter("a neuron with n_inputs needs a value for n_branches")
    return DendriticNeuron(spec, flat["n_inputs"], flat["n_branches"], flat.get("group_size", 1))


def _own_nonlinearity(flat: Mapping[str, Any]) -> Nonlinearity:
    return nonlinearity_from_flat({name: flat[name] for name in ("nonlinearity", *SHAPE) if name in flat})


def _flat_branches(kind: Branches) -> dict[str, Any]:
    """Parameters common to all branches of a kind."""
    flat = {**flat_nonlinearity(kind.nonlinearity), "theta_d": kind.theta_d}
    if kind.inhibition is not None:
        given = {f"inhibitory_{name}": value for name, value in asdict(kind.inhibition).items()}
        flat |= {name: value for name, value in given.items() if value is not None}
    return flat


def _flat_population(kind: Branches) -> dict[str, Any]:
    flat = _flat_branches(kind)
    own = {name: getattr(kind, name) for name in ("fraction", "length", "f_in", "mean_output")}
    return {**flat, **{name: value for name, value in own.items() if value is not None}}


def _population_from_flat(flat: Mapping[str, Any]) -> Branches:
    _refuse_unknown(flat, "a population", POPULATION)
    for name in ("theta_d", "fraction"):
        if name not in flat:
            raise InvalidParameter(f"a population needs a value for {name}")
    own = {name: flat[name] for name in ("length", "f_in", "mean_output") if name in flat}
    inhibition = inhibition_from_flat(flat)
    return Branches(_own_nonlinearity(flat), flat["theta_d"], flat["fraction"], inhibition=inhibition, **own)


def inhibition_from_flat(flat: Mapping[str, Any]) -> Inhibition | None:
    """The inhibition described by flat parameters, or None."""
    given = {name.removeprefix("inhibitory_"): flat[name] for name in INHIBITION if name in flat}
    for name in ("share", "drive") if given else ():
        if name not in given:
            raise InvalidParameter(f"inhibition needs a value for inhibitory_{name}")
    return Inhibition(**given) if given else None


def finite_neuron(neuron: NeuronSpec | DendriticNeuron) -> DendriticNeuron:
    """The neuron, if it has a size; raises otherwise."""
    if not isinstance(neuron, DendriticNeuron):
        raise InvalidParameter("training needs a neuron of finite size: give n_inputs and n_branches")
    return neuron


def flat_task(task: TaskSpec) -> dict[str, float]:
    """A task as flat parameters."""
    flat = asdict(task)
    if not task.branch_correlation:  # keeps the keys of results stored before correlations existed
        del flat["branch_correlation"]
    return flat


def task_from_flat(flat: Mapping[str, Any], default: TaskSpec | None = None) -> TaskSpec:
    """The task described by flat parameters; those that are not given are taken from ``default``."""
    _refuse_unknown(flat, "a task", TASK)
    return replace(default or TaskSpec(), **flat)


def _refuse_unknown(flat: Mapping[str, Any], kind: str, known: Sequence[str]) -> None:
    for name in flat:
        if name not in known:
            raise InvalidParameter(f"{name} is not a parameter of {kind}; allowed are {', '.join(known)}")
