"""The replica-symmetric free entropy and its derivatives in their printed form, at any order parameters.

``phi = q q_hat / 2 - Q Q_hat - W_bar M_hat + G_S + alpha G_E`` [free-entropy]. The entropic term G_S describes a weight
in the random field of the other weights and the patterns, the energetic term G_E a pattern. The solver uses a reduced
form of the equations; here they have one derivative each, so that the two can be checked against each other.
"""

from dataclasses import dataclass

from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.theory._laws import FIELD_STEP
from dendrocap.theory.dendrite import NODES, PairKernel
from dendrocap.theory.neuron_kernel import TreeKernel
from dendrocap.theory.patterns import HARD_MARGIN, Channel, Energetic
from dendrocap.theory.weights import Entropic, law_of


@dataclass(frozen=True)
class OrderParameters:
    """Order parameters of the cloud of solutions, with their conjugates.

    Attributes
    ----------
    Q, q : float
        Mean square of the weights, and overlap of two solutions.
    mean_shift : float
        Shift of the mean somatic input by the deviation dM of the weights from their balance.
    Q_hat, q_hat, M_hat : float
        Conjugates of Q, q, and of the balance of the mean weight.
    """

    Q: float
    q: float
    mean_shift: float
    Q_hat: float
    q_hat: float
    M_hat: float


def order_parameters(point) -> OrderParameters:
    """Those of a saddle point of like branches."""
    return OrderParameters(point.Q, point.q, point.mean_shift, point.Q_hat, point.q_hat, point.M_hat)


def free_entropy(
    neuron: NeuronSpec,
    task: TaskSpec,
    alpha: float,
    order: OrderParameters,
    *,
    nodes: int = NODES,
    channel: Channel = HARD_MARGIN,
) -> float:
    """phi: logarithm of the volume of solutions per weight, at given order parameters [free-entropy]."""
    entropic, energetic, _ = _terms(neuron, task, order, nodes, channel)
    W_bar = neuron.tree[0].theta / task.f_in
    return (
        0.5 * order.q * order.q_hat
        - order.Q * order.Q_hat
        - W_bar * order.M_hat
        + entropic.term
        + alpha * energetic.term
    )


def free_entropy_gradient(
    neuron: NeuronSpec,
    task: TaskSpec,
    alpha: float,
    order: OrderParameters,
    *,
    nodes: int = NODES,
    channel: Channel = HARD_MARGIN,
) -> OrderParameters:
    """Derivatives of the free entropy, all zero at the saddle point [sp-1] to [sp-6].

    Each attribute of the result is the derivative with respect to the order parameter of that name.
    """
    entropic, energetic, kernel = _terms(neuron, task, order, nodes, channel)
    W_bar = neuron.tree[0].theta / task.f_in
    # G_E obeys dG_E/dD0 = E f''/2 and dG_E/dD1 = E (f'' + f'^2)/2. Then at fixed dq = Q - q the variance D0 + D1
    # enters with E f''/2, and D1 at fixed variance with E f'^2/2.
    along_dq = 0.5 * energetic.f1_squared * kernel.dD1_ddq
    along_Q = 0.5 * (energetic.f2 * kernel.dGamma0_dQ + energetic.f1_squared * kernel.dD1_dQ)
    return OrderParameters(
        Q=-order.Q_hat + alpha * (along_Q + along_dq),
        q=0.5 * order.q_hat - alpha * along_dq,
        mean_shift=-alpha * energetic.push,
        Q_hat=-order.Q + entropic.mean_squared + entropic.variance,
        q_hat=0.5 * (order.q - entropic.mean_squared),
        M_hat=-W_bar + entropic.mean,
    )


def _terms(
    neuron: NeuronSpec, task: TaskSpec, order: OrderParameters, nodes: int, channel: Channel
) -> tuple[Entropic, Energetic, PairKernel]:
    step = FIELD_STEP * NODES / nodes
    kernel = TreeKernel(neuron, task, nodes).at(order.Q, order.Q - order.q)
    entropic = law_of(neuron.prior).averages(order.q_hat - 2.0 * order.Q_hat, order.q_hat, order.M_hat, step)
    return entropic, Energetic.at(kernel, task, order.mean_shift, step, channel), kernel
