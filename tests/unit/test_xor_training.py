import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

torch = pytest.importorskip("torch")

from flax import nnx  # noqa: E402

from jaxbits import xor  # noqa: E402
from jaxbits.xor import twin  # noqa: E402

TRAIN, TEST = xor.XorData(2500, seed=42), xor.XorData(500, seed=123)


def equal(one, other):
    return all(jax.tree.leaves(jax.tree.map(np.array_equal, one, other)))


@pytest.mark.parametrize("seed", range(10))
def test_it_learns_from_every_seed(seed):
    state, history = xor.fit_on_device(xor.create_state(seed), TRAIN, epochs=100, seed=seed)
    assert xor.evaluate(state, xor.eval_loader(TEST)).accuracy >= 0.99
    assert history.loss.shape == (100,)
    assert history.loss[-1] < 0.1 < history.loss[0]


def test_the_loop_learns_as_well_and_leaves_its_start_alone():
    start = xor.create_state(1)
    before = jax.tree.map(np.array, start.params)
    state, history = xor.fit(start, xor.train_loader(TRAIN), epochs=60, progress=False)
    assert xor.evaluate(state, xor.eval_loader(TEST)).accuracy >= 0.99
    assert equal(before, start.params)
    assert int(state.step) == 60 * 19
    assert history.accuracy.shape == (60,)
    assert history.accuracy[-1] > 0.99


def test_a_resumed_training_ends_bit_for_bit_where_an_unbroken_one_does(tmp_path):
    loader = xor.train_loader(TRAIN, seed=3)
    tx = optax.adam(0.01)
    whole, _ = xor.fit(xor.create_state(0, tx=tx), loader, epochs=100, progress=False)
    half, _ = xor.fit(xor.create_state(0, tx=tx), loader, epochs=50, progress=False)
    xor.save(tmp_path / "half", half)
    back = xor.restore(tmp_path / "half", xor.create_state(9, tx=tx))
    end, history = xor.fit(back, loader, epochs=100, first_epoch=50, progress=False)
    assert len(history.loss) == 50
    assert equal((whole.params, whole.opt_state, whole.step), (end.params, end.opt_state, end.step))


def test_a_warm_loop_compiles_nothing_more():
    loader, state = xor.train_loader(TRAIN), xor.create_state(0)
    state, _ = xor.fit(state, loader, epochs=2, progress=False)
    compiled = []

    def listen(event, seconds, **_):
        if event.endswith("backend_compile_duration"):
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        xor.fit(state, loader, epochs=4, first_epoch=2, progress=False)
        xor.fit(xor.create_state(3), loader, epochs=2, progress=False)
    finally:
        jax.monitoring.clear_event_listeners()
    assert compiled == []


def test_bad_arguments_are_named():
    state, loader = xor.create_state(0), xor.train_loader(TRAIN)
    with pytest.raises(ValueError, match="first_epoch=3: should be between 0 and 2"):
        xor.fit(state, loader, epochs=2, first_epoch=3)
    with pytest.raises(ValueError, match="batch_size=9999"):
        xor.fit_on_device(state, TRAIN, epochs=1, batch_size=9999)
    with pytest.raises(ValueError, match="at least one batch"):
        xor.evaluate(state, [])


def test_evaluation_counts_every_sample_once():
    state = xor.create_state(0)
    logits = state.apply_fn({"params": state.params}, TEST.inputs)
    for size in (500, 128, 7):
        scores = xor.evaluate(state, xor.eval_loader(TEST, batch_size=size))
        assert scores.samples == 500
        assert scores.loss == pytest.approx(float(xor.mean_loss(logits, TEST.labels)), rel=1e-5)
        assert scores.accuracy == pytest.approx(float(xor.accuracy(logits, TEST.labels)))


@pytest.mark.parametrize("seed", range(5))
def test_no_score_depends_on_the_batch_size(seed):
    state = xor.create_state(seed)
    scores = [xor.evaluate(state, xor.eval_loader(TEST, batch_size=n)) for n in (500, 499, 7, 13)]
    assert len({s.accuracy for s in scores}) == 1
    assert scores[0].accuracy * 500 % 1 == 0
    assert np.ptp([s.loss for s in scores]) < 1e-6


def test_a_column_of_logits_is_refused():
    for measure in (xor.mean_loss, xor.accuracy):
        with pytest.raises(
            ValueError, match=r"logits of shape \(3, 1\) and labels of shape \(3,\)"
        ):
            measure(jnp.ones((3, 1)), jnp.ones(3, int))


@pytest.mark.parametrize(
    ("use", "complaint"),
    [
        (
            lambda s: xor.fit(s, xor.train_loader(TRAIN), epochs=-1),
            "epochs=-1: should be at least 0",
        ),
        (lambda s: xor.fit(s, [1], epochs=1), r"loader=\[1\]: should have an epoch"),
        (lambda s: xor.fit_on_device(s, TRAIN, epochs=0), "epochs=0: should be at least 1"),
        (lambda s: xor.fit_on_device(s, TRAIN, epochs=5.0), "epochs=5.0: should be a whole number"),
        (lambda s: xor.create_state(width=0), "width=0: should be at least 1"),
        (lambda s: xor.create_state(tx="adam"), "tx='adam': should be an optimiser"),
        (lambda s: xor.train_loader(TRAIN, batch_size=64.0), "batch_size=64.0: should be a whole"),
        (lambda s: xor.XorData(3, seed=1.5), "seed=1.5: should be a whole number"),
        (lambda s: xor.XorData(3, seed=-1), "seed=-1: should be at least 0"),
        (lambda s: xor.XorData(3, seed=1, std=float("nan")), "std=nan: should be a number"),
        (lambda s: xor.shuffled(jax.random.key(0), 10.0), "size=10.0: should be a whole number"),
        (lambda s: xor.numpy_collate([]), "at least one sample"),
    ],
)
def test_a_wrong_argument_is_named(use, complaint):
    with pytest.raises((TypeError, ValueError), match=complaint):
        use(xor.create_state(0))


def test_all_twins_have_one_loss_for_one_set_of_weights():
    params = xor.create_state(5).params
    x, y = TRAIN[np.arange(128)]
    losses = [
        float(xor.mean_loss(model.apply({"params": params}, x), y))
        for model in (xor.Classifier(), xor.ClassifierWithSetup())
    ]
    in_nnx = xor.NnxClassifier(rngs=nnx.Rngs(0))
    in_nnx.load(params)
    losses.append(float(xor.mean_loss(in_nnx(jnp.asarray(x)), y)))
    in_torch = xor.Twin()
    in_torch.load(params)
    losses.append(twin.loss_of(in_torch, x, y).item())
    assert np.ptp(losses) < 1e-6


def test_a_step_of_the_torch_twin_is_our_step():
    state = xor.create_state(5)
    x, y = TRAIN[np.arange(128)]
    in_torch = xor.Twin()
    in_torch.load(state.params)
    twin.train_step(in_torch, torch.optim.SGD(in_torch.parameters(), lr=0.1), x, y)
    stepped = xor.fit(state, _One(x, y), epochs=1, progress=False)[0]
    kernel = in_torch.hidden.weight.detach().numpy().T
    assert np.allclose(stepped.params["hidden"]["kernel"], kernel, atol=1e-6)


class _One(list):
    epoch = 0

    def __init__(self, x, y):
        super().__init__([(x, y)])


@pytest.mark.parametrize("size", [1, 2, 3, 10, 97, 2500, 2503])
def test_a_shuffle_holds_every_number_once(size):
    order = np.asarray(xor.shuffled(jax.random.key(size), size))
    assert sorted(order) == list(range(size))


def test_shuffles_are_spread_evenly_and_differ_by_key():
    keys = jax.random.split(jax.random.key(0), 4000)
    orders = np.asarray(jax.vmap(lambda k: xor.shuffled(k, 12))(keys))
    counts = np.array([np.bincount(orders[:, place], minlength=12) for place in range(12)])
    expected = 4000 / 12
    chi2 = ((counts - expected) ** 2 / expected).sum()
    assert chi2 < 121 + 5 * np.sqrt(2 * 121)  # 121 degrees of freedom, five standard deviations
    # Neighbours are as often in order as not.
    assert abs((np.diff(orders) > 0).mean() - 0.5) < 0.01


def test_a_shuffle_of_nothing_is_refused():
    with pytest.raises(ValueError, match=r"size=0"):
        xor.shuffled(jax.random.key(0), 0)
