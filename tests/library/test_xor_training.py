"""Test the XOR classifier's training functions and their variants."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

torch = pytest.importorskip("torch")

from flax import nnx  # noqa: E402

from jaxbits import xor  # noqa: E402

TRAIN, TEST = xor.XorData(2500, seed=42), xor.XorData(500, seed=123)
MODEL, SGD, ADAM = xor.Classifier(), optax.sgd(0.1), optax.adam(0.01)


def initial_state(seed, tx=SGD):
    return xor.create_state(seed, MODEL, tx)


def accuracy_on_test_data(state):
    return xor.evaluate(state, xor.eval_loader(TEST))[1]


def is_equal(left, right):
    return all(jax.tree.leaves(jax.tree.map(np.array_equal, left, right)))


FIRST_AND_OTHER_SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))]


@pytest.mark.parametrize("seed", FIRST_AND_OTHER_SEEDS)
def test_train_classifies_all_test_points_with_every_seed(seed):
    state, history = xor.train(initial_state(seed), xor.faster_loader(TRAIN), epochs=100)
    assert accuracy_on_test_data(state) == 1.0
    assert history.shape == (100, 2)
    assert history[-1, 0] < 0.1 < history[0, 0]


@pytest.mark.parametrize("seed", FIRST_AND_OTHER_SEEDS[:3])
def test_train_on_device_classifies_all_test_points(seed):
    state, history = xor.train_on_device(initial_state(seed), TRAIN, epochs=100, seed=seed)
    assert accuracy_on_test_data(state) == 1.0
    assert int(state.step) == 1900
    assert history.shape == (100, 2)
    assert history[-1, 0] < 0.1 < history[0, 0]


def test_train_with_faster_loader_is_bitwise_identical():
    first = initial_state(1)
    before = jax.tree.map(np.array, first.params)
    plain, history = xor.train(first, xor.train_loader(TRAIN), epochs=5)
    faster, again = xor.train(first, xor.faster_loader(TRAIN), epochs=5)
    assert is_equal(plain, faster)
    assert np.array_equal(history, again)
    assert int(plain.step) == 5 * 19
    assert is_equal(before, first.params)


def test_train_resumed_from_checkpoint_is_bitwise_identical(tmp_path):
    loader = xor.train_loader(TRAIN)
    full, history = xor.train(initial_state(0, ADAM), loader, epochs=20)
    half, first_half = xor.train(initial_state(0, ADAM), loader, epochs=10)
    xor.save(tmp_path / "half", half)
    restored = xor.restore(tmp_path / "half", initial_state(9, ADAM))
    end, second_half = xor.train(restored, loader, epochs=20, first_epoch=10)
    assert np.array_equal(history, np.concatenate([first_half, second_half]))
    assert is_equal((full.params, full.opt_state, full.step), (end.params, end.opt_state, end.step))


def test_train_changes_nothing_if_no_epochs_are_left():
    state, history = xor.train(initial_state(0), xor.train_loader(TRAIN), epochs=2, first_epoch=2)
    assert is_equal(state, initial_state(0))
    assert len(history) == 0


def test_train_traces_step_once():
    traces = []

    class Counted(xor.Classifier):
        def __call__(self, x):
            traces.append(x.shape)
            return super().__call__(x)

    state = xor.create_state(0, Counted(), optax.sgd(0.1))
    traces.clear()
    state, _ = xor.train(state, xor.train_loader(TRAIN), epochs=2)
    xor.train(state, xor.train_loader(TRAIN), epochs=4, first_epoch=2)
    assert traces == [(128, 2)]


def test_train_compiles_nothing_on_second_call():
    loader = xor.train_loader(TRAIN)
    state, _ = xor.train(initial_state(0), loader, epochs=2)
    compiled = []

    def listen(event, seconds, **_):
        if event.endswith("backend_compile_duration"):
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        xor.train(state, loader, epochs=4, first_epoch=2)
    finally:
        jax.monitoring.clear_event_listeners()
    assert compiled == []


def test_train_writes_progress_bar_to_stderr(capsys):
    xor.train(initial_state(0), xor.train_loader(TRAIN), epochs=2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "2/2" in captured.err


@pytest.mark.parametrize("seed", range(5))
def test_evaluate_scores_do_not_depend_on_batch_size(seed):
    state = initial_state(seed)
    logits = MODEL.apply({"params": state.params}, TEST.inputs)
    accuracy = np.mean((np.asarray(logits) > 0) == TEST.labels)
    loss = optax.sigmoid_binary_cross_entropy(logits, TEST.labels).mean()
    for size in (500, 499, 128, 13, 7):
        scores = xor.evaluate(state, xor.eval_loader(TEST, batch_size=size))
        assert scores == pytest.approx([float(loss), accuracy], abs=1e-6)


def test_loss_and_accuracy_rejects_logits_of_wrong_shape():
    def column(variables, inputs):
        return inputs[:, :1]

    with pytest.raises(ValueError, match=r"logits must have the shape of labels, \(3,\), got"):
        xor.loss_and_accuracy({}, column, jnp.ones((3, 2)), jnp.ones(3, int))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, loader: xor.train(s, loader, -1), "epochs must be at least 0, got -1"),
        (lambda s, loader: xor.train(s, loader, 2, 3), "first_epoch must be between 0 and 2, got"),
        (lambda s, loader: xor.train(s, loader, 2.0), "epochs must be a whole number, got 2.0"),
        (lambda s, loader: xor.train(s, [1], 1), r"loader must have a generator .* got \[1\]"),
        (lambda s, loader: xor.train(s, xor.eval_loader(TEST), 1), "must have a generator"),
        (lambda s, loader: xor.evaluate(s, []), "length of loader must be at least 1, got 0"),
        (lambda s, loader: xor.create_state(0.5, MODEL, SGD), "seed must be a whole number"),
        (lambda s, loader: xor.create_state(0, xor.Classifier, SGD), "model must be a linen modu"),
        (lambda s, loader: xor.create_state(0, MODEL, "adam"), "tx must be an Optax optimizer"),
        (
            lambda s, loader: xor.create_state(0, xor.Classifier(0), SGD),
            "width must be at least 1, got 0",
        ),
        (
            lambda s, loader: xor.create_state(0, xor.ClassifierWithSetup(0), SGD),
            "width must be at least 1, got 0",
        ),
        (lambda s, loader: xor.NnxClassifier(0, rngs=nnx.Rngs(0)), "width must be at least 1"),
        (lambda s, loader: xor.TorchClassifier(0), "width must be at least 1, got 0"),
        (lambda s, loader: xor.train_on_device(s, TRAIN, 0), "epochs must be at least 1, got 0"),
        (lambda s, loader: xor.train_on_device(s, TRAIN, 5.0), "epochs must be a whole number"),
        (
            lambda s, loader: xor.train_on_device(s, TRAIN, 1, batch_size=9999),
            "batch_size must be between 1 and 2500, got 9999",
        ),
        (lambda s, loader: xor.shuffled(jax.random.key(0), 10.0), "size must be a whole number"),
        (lambda s, loader: xor.shuffled(jax.random.key(0), 0), "size must be between 1 and"),
    ],
)
def test_xor_functions_name_invalid_argument(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(initial_state(0), xor.train_loader(TRAIN))


def test_model_variants_compute_same_loss():
    params = initial_state(5).params
    x, y = TRAIN[:128]
    losses = [
        float(xor.loss_and_accuracy(params, model.apply, x, y)[0])
        for model in (xor.Classifier(), xor.ClassifierWithSetup())
    ]
    in_nnx = nnx_model(params)
    losses.append(float(optax.sigmoid_binary_cross_entropy(in_nnx(x), y).mean()))
    in_torch = xor.TorchClassifier()
    xor.load_weights(in_torch, params)
    losses.append(xor.torch_loss(in_torch, x, y).item())
    assert np.ptp(losses) < 1e-6


def nnx_model(params):
    model = xor.NnxClassifier(rngs=nnx.Rngs(0))
    nnx.update(model, params)
    return model


def test_nnx_train_step_reaches_same_params_as_train():
    state, loader = initial_state(0), xor.train_loader(TRAIN)
    model = nnx_model(state.params)
    optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
    state, history = xor.train(state, loader, epochs=10)
    for epoch in range(10):
        loader.generator.manual_seed(epoch)
        losses = [xor.nnx_train_step(model, optimizer, x, y) for x, y in loader]
    assert np.mean(losses) == pytest.approx(history[-1, 0], rel=1e-6)
    trained = nnx.to_pure_dict(nnx.state(model, nnx.Param))
    assert jax.tree.structure(trained) == jax.tree.structure(state.params)
    assert all(jax.tree.leaves(jax.tree.map(np.allclose, trained, state.params)))


def test_torch_train_step_matches_train_step():
    state = initial_state(5)
    x, y = TRAIN[:128]
    in_torch = xor.TorchClassifier()
    xor.load_weights(in_torch, state.params)
    optimizer = torch.optim.SGD(in_torch.parameters(), lr=0.1)
    loss = xor.torch_train_step(in_torch, optimizer, x, y)
    stepped, metrics = xor.train_step(state, x, y)
    assert loss.item() == pytest.approx(float(metrics[0]), rel=1e-6)
    kernel = in_torch.hidden.weight.detach().numpy().T
    assert np.allclose(stepped.params["hidden"]["kernel"], kernel, atol=1e-6)


def test_donating_train_step_matches_result_and_deletes_input():
    state = initial_state(5)
    x, y = TRAIN[:128]
    stepped, _ = xor.train_step(state, x, y)
    donated, _ = xor.donating_train_step(state, x, y)
    assert is_equal(stepped.params, donated.params)
    assert state.params["hidden"]["kernel"].is_deleted()


@pytest.mark.parametrize(
    "size",
    [1, 97, 2500, *(pytest.param(size, marks=pytest.mark.slow) for size in (2, 3, 10, 2503))],
)
def test_shuffled_contains_every_index_once(size):
    order = np.asarray(xor.shuffled(jax.random.key(size), size))
    assert sorted(order) == list(range(size))


def test_shuffled_is_uniform_over_keys():
    keys = jax.random.split(jax.random.key(0), 4000)
    orders = np.asarray(jax.vmap(lambda k: xor.shuffled(k, 12))(keys))
    counts = np.array([np.bincount(orders[:, index], minlength=12) for index in range(12)])
    expected = 4000 / 12
    chi2 = ((counts - expected) ** 2 / expected).sum()
    # There are 11 * 11 = 121 degrees of freedom, so the mean is 121 and the variance is 2 * 121.
    # The bound is five standard deviations above the mean.
    assert chi2 < 121 + 5 * np.sqrt(2 * 121)
    # In a random permutation, two neighbors are in ascending order with probability 1/2.
    assert abs((np.diff(orders) > 0).mean() - 0.5) < 0.01
