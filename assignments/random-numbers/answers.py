"""Right and wrong answers to the assignment: what its tests must take, and must not."""

# %% cards · right: fold_in for each quantity, choice for the symbols


def cards(key, count, chances):
    own = [jax.random.fold_in(key, number) for number in range(4)]
    return dict(
        symbol=jax.random.choice(own[0], len(chances), (count,), p=chances),
        star=jax.random.uniform(own[1], (count,)) < 0.25,
        place=jax.random.uniform(own[2], (count, 2)),
        tint=jax.random.normal(own[3], (count, 3)),
    )


# %% cards · right: one card at a time, by vmap over keys


def cards(key, count, chances):
    def card(key):
        symbol, star, place, tint = jax.random.split(key, 4)
        return {
            "symbol": jax.random.categorical(symbol, jnp.log(chances)),
            "star": jax.random.bernoulli(star, 0.25),
            "place": jax.random.uniform(place, (2,)),
            "tint": jax.random.normal(tint, (3,)),
        }

    return jax.vmap(card)(jax.random.split(key, count))


# %% cards · right: a key that moves on


def cards(key, count, chances):
    key, one = jax.random.split(key)
    edges = jnp.cumsum(chances)[:-1]
    drawn = jax.random.uniform(one, (count, 1))
    symbol = (drawn >= edges).sum(axis=1)
    key, one = jax.random.split(key)
    star = jax.random.randint(one, (count,), 0, 4) == 0
    key, one = jax.random.split(key)
    place = jax.random.uniform(one, (count, 2))
    key, one = jax.random.split(key)
    tint = jax.random.normal(one, (count, 3))
    return {"symbol": symbol, "star": star, "place": place, "tint": tint}


# %% cards · wrong: keys apart, but chances for logits


def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(one, chances, shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% cards · wrong: the logarithm, and one key for star and place


def cards(key, count, chances):
    one, two, three = jax.random.split(key, 3)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(two, (count, 2)),
        "tint": jax.random.normal(three, (count, 3)),
    }


# %% cards · wrong: split and fold_in meet, and no detector sees it


def cards(key, count, chances):
    one, two = jax.random.split(key)
    three, four = jax.random.fold_in(key, 0), jax.random.fold_in(key, 1)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% cards · wrong: clones silence the detector


def cards(key, count, chances):
    one, two = jax.random.split(key)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(jax.random.clone(two), (count, 2)),
        "tint": jax.random.normal(jax.random.clone(one), (count, 3)),
    }


# %% cards · wrong: a comment silences the detector


def cards(key, count, chances):
    one, two = jax.random.split(key)
    star = jax.random.bernoulli(two, 0.25, (count,))  # jaxbits: ignore[key_reuse]
    place = jax.random.uniform(two, (count, 2))  # jaxbits: ignore[key_reuse]
    symbol = jax.random.categorical(one, jnp.log(chances), shape=(count,))
    tint = jax.random.normal(jax.random.fold_in(one, 0), (count, 3))
    return {"symbol": symbol, "star": star, "place": place, "tint": tint}


# %% cards · wrong: a fresh seed for the tint, the same each time


def cards(key, count, chances):
    one, two, three = jax.random.split(key, 3)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(jax.random.key(0), (count, 3)),
    }


# %% cards · wrong: one tint for all cards, drawn once


def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    tint = jax.random.normal(four, (3,))
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jnp.broadcast_to(tint, (count, 3)),
    }


# %% cards · wrong: three equal colours in each tint


def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jnp.tile(jax.random.normal(four, (count, 1)), (1, 3)),
    }


# %% cards · wrong: NumPy's generator, seeded by the key


def cards(key, count, chances):
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    parts = np.asarray(chances, float)
    return {
        "symbol": jnp.asarray(rng.choice(len(chances), count, p=parts / parts.sum())),
        "star": jnp.asarray(rng.random(count) < 0.25),
        "place": jnp.asarray(rng.random((count, 2)), jnp.float32),
        "tint": jnp.asarray(rng.normal(size=(count, 3)), jnp.float32),
    }


# %% cards · wrong: a card's key is drawn from and then split


def cards(key, count, chances):
    def card(key):
        tint = jax.random.normal(key, (3,))
        symbol, star, place = jax.random.split(key, 3)
        return {
            "symbol": jax.random.categorical(symbol, jnp.log(chances)),
            "star": jax.random.bernoulli(star, 0.25),
            "place": jax.random.uniform(place, (2,)),
            "tint": tint,
        }

    return jax.vmap(card)(jax.random.split(key, count))


# %% cards · wrong: the next card's key is folded from the same numbers as its quantities


def cards(key, count, chances):
    def card(number):
        keys = [jax.random.fold_in(key, number + k) for k in range(4)]
        return {
            "symbol": jax.random.categorical(keys[0], jnp.log(chances)),
            "star": jax.random.uniform(keys[1]) < 0.25,
            "place": jax.random.uniform(keys[2], (2,)),
            "tint": jax.random.normal(keys[3], (3,)),
        }

    return jax.vmap(card)(jnp.arange(count))


# %% cards · wrong: stars are numbers


def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)).astype(jnp.int32),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% cards · wrong: a small number instead of a chance of zero


def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    symbol = jax.random.categorical(one, jnp.log(chances + 1e-3), shape=(count,))
    return {
        "symbol": symbol,
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% free-numbers · right: tries with a key for each try, in a while_loop


def free_numbers(key, players, taken):
    taken = jnp.asarray(taken)

    def number_of(player):
        own = jax.random.fold_in(key, player)

        def attempt(number):
            return jax.random.randint(jax.random.fold_in(own, number), (), 0, len(taken))

        def again(carry):
            return carry[0] + 1, attempt(carry[0] + 1)

        return jax.lax.while_loop(lambda carry: taken[carry[1]], again, (0, attempt(0)))[1]

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · right: choice with probabilities


def free_numbers(key, players, taken):
    free = ~jnp.asarray(taken)
    keys = jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, jnp.asarray(players))
    return jax.vmap(lambda own: jax.random.choice(own, len(free), p=free / free.sum()))(keys)


# %% free-numbers · right: the place in the list of free numbers


def free_numbers(key, players, taken):
    taken = jnp.asarray(taken)
    in_order = jnp.argsort(taken, stable=True)
    free = len(taken) - taken.sum()

    def number_of(player):
        return in_order[jax.random.randint(jax.random.fold_in(key, player), (), 0, free)]

    return jax.lax.map(number_of, jnp.asarray(players))


# %% free-numbers · wrong: a key for each place in the array


def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)
    keys = jax.random.split(key, len(players))
    return jax.vmap(lambda one: jax.random.categorical(one, logits))(keys)


# %% free-numbers · wrong: one draw for the whole array


def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)
    return jax.random.categorical(key, logits, shape=(len(players),))


# %% free-numbers · wrong: one key for all players


def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)
    return jax.vmap(lambda player: jax.random.categorical(key, logits))(jnp.asarray(players))


# %% free-numbers · wrong: the next try of a player is the first of the next player


def free_numbers(key, players, taken):
    taken = jnp.asarray(taken)

    def number_of(player):
        def attempt(number):
            return jax.random.randint(jax.random.fold_in(key, number), (), 0, len(taken))

        def again(carry):
            return carry[0] + 1, attempt(carry[0] + 1)

        first = (player, attempt(player))
        return jax.lax.while_loop(lambda carry: taken[carry[1]], again, first)[1]

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: a taken number gives way to the next free one


def free_numbers(key, players, taken):
    taken = jnp.asarray(taken)

    def number_of(player):
        number = jax.random.randint(jax.random.fold_in(key, player), (), 0, len(taken))
        return jax.lax.while_loop(lambda n: taken[n], lambda n: (n + 1) % len(taken), number)

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: tries five times and then takes what there is


def free_numbers(key, players, taken):
    taken = jnp.asarray(taken)

    def number_of(player):
        tries = jax.random.randint(jax.random.fold_in(key, player), (5,), 0, len(taken))
        return tries[jnp.argmin(taken[tries])]

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: the key of the player, and not the one that is given


def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)

    def number_of(player):
        return jax.random.categorical(jax.random.key(player), logits)

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: only the lower digits of the player


def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)

    def number_of(player):
        own = jax.random.fold_in(key, player % 65536)
        return jax.random.categorical(own, logits)

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: the free numbers by a mask, which jit does not allow


def free_numbers(key, players, taken):
    free = jnp.flatnonzero(~jnp.asarray(taken))

    def number_of(player):
        return jax.random.choice(jax.random.fold_in(key, player), free)

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: the number in the list of free ones, not the free number


def free_numbers(key, players, taken):
    free = (~jnp.asarray(taken)).sum()

    def number_of(player):
        return jax.random.randint(jax.random.fold_in(key, player), (), 0, free)

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: no vmap, so that fold_in is given an array


def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)
    own = jax.random.fold_in(key, players.sum())
    return jax.random.categorical(own, logits, shape=players.shape)


# %% free-numbers · wrong: a Python loop over players, which calls int


def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)
    keys = [jax.random.fold_in(key, int(player)) for player in players]
    return jnp.stack([jax.random.categorical(own, logits) for own in keys])


# %% free-numbers · wrong: a NumPy table and a traced number


def free_numbers(key, players, taken):
    def number_of(player):
        own = jax.random.fold_in(key, player)

        def again(carry):
            used, draw = jax.random.split(carry[0])
            return used, jax.random.randint(draw, (), 0, len(taken))

        first, draw = jax.random.split(own)
        start = (first, jax.random.randint(draw, (), 0, len(taken)))
        return jax.lax.while_loop(lambda carry: taken[carry[1]], again, start)[1]

    return jax.vmap(number_of)(players)


# %% free-numbers · wrong: the key moves on from player to player


def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)

    def step(key, player):
        key, one = jax.random.split(key)
        return key, jax.random.categorical(jax.random.fold_in(one, player), logits)

    return jax.lax.scan(step, key, jnp.asarray(players))[1]


# %% how-many · right: built up from parts


def how_many(evenings, machines):
    e, m = evenings, machines
    small, large = sorted((e, m))
    counts = {"added": len(range(e)) + len(range(1, m))}
    counts["seeded"] = m * (e if e < 4 else 4)
    counts["split_and_folded"] = large
    counts["both_ways"] = small * small + 2 * small * (large - small)
    counts["chained"] = m + e - 1 if m > 1 else e + 1
    return counts


# %% how-many · wrong: all keys are different


def how_many(evenings, machines):
    both = evenings * machines
    return {
        "added": both,
        "seeded": both,
        "split_and_folded": evenings + machines,
        "both_ways": 2 * both,
        "chained": evenings + machines,
    }


# %% how-many · wrong: fits the two measurements that are shown


def how_many(evenings, machines):
    return {
        "added": evenings + machines - 1,
        "seeded": evenings * machines if evenings < 4 else 16,
        "split_and_folded": max(evenings, machines),
        "both_ways": 2 * evenings * machines - min(evenings, machines) ** 2,
        "chained": evenings + machines - 1,
    }


# %% how-many · wrong: no key of the chain is a child of the root


def how_many(evenings, machines):
    fewer = min(evenings, machines)
    return {
        "added": evenings + machines - 1,
        "seeded": min(evenings, 4) * machines,
        "split_and_folded": evenings + machines - fewer,
        "both_ways": 2 * evenings * machines - fewer**2,
        "chained": evenings + machines,
    }


# %% how-many · wrong: two keys of the chain, the handed-on one as well


def how_many(evenings, machines):
    fewer = min(evenings, machines)
    return {
        "added": evenings + machines - 1,
        "seeded": min(evenings, 4) * machines,
        "split_and_folded": evenings + machines - fewer,
        "both_ways": 2 * evenings * machines - fewer**2,
        "chained": evenings + machines - min(2, machines),
    }


# %% how-many · wrong: the two orders have only the equal pairs in common


def how_many(evenings, machines):
    fewer = min(evenings, machines)
    return {
        "added": evenings + machines - 1,
        "seeded": min(evenings, 4) * machines,
        "split_and_folded": max(evenings, machines),
        "both_ways": 2 * evenings * machines - fewer,
        "chained": evenings + machines - (machines >= 2),
    }


# %% how-many · wrong: counts by making the keys


def how_many(evenings, machines):
    return measured(evenings, machines)


# %% how-many · wrong: seeds are not cut


def how_many(evenings, machines):
    fewer = min(evenings, machines)
    return {
        "added": evenings + machines - 1,
        "seeded": evenings * machines,
        "split_and_folded": max(evenings, machines),
        "both_ways": 2 * evenings * machines - fewer**2,
        "chained": evenings + machines - (machines >= 2),
    }


# %% how-many · wrong: floats, which lose the last digits of large counts


def how_many(evenings, machines):
    fewer = min(evenings, machines)
    return {
        "added": jnp.float32(evenings + machines - 1),
        "seeded": jnp.float32(min(evenings, 4) * machines),
        "split_and_folded": jnp.float32(max(evenings, machines)),
        "both_ways": jnp.float32(2 * evenings * machines - fewer**2),
        "chained": jnp.float32(evenings + machines - (machines >= 2)),
    }


# %% meetings · right: others


def meetings():
    return {
        "machines": ((77, 9), (6, 5)),
        "tickets": ((4300, 5), (5, 32_709)),
        "sheets": ((3, 0), (5, 2)),
    }


# %% meetings · right: lists instead of tuples


def meetings():
    return {
        "machines": [[1, 6], [4, 9]],
        "tickets": [[1, 7], [4295, 967_303]],
        "sheets": [[3, 8], [7, 0]],
    }


# %% meetings · wrong: the same twice


def meetings():
    return {
        "machines": ((2, 3), (2, 2)),
        "tickets": ((1, 7), (1, 7)),
        "sheets": ((0, 0), (0, 0)),
    }


# %% meetings · wrong: seeds that meet, outside of the range


def meetings():
    return {
        "machines": ((1, 3), (2, 1)),
        "tickets": ((0, 0), (2**32 // 10**6, 2**32 % 10**6 + 10**6)),
        "sheets": ((1, 1), (2, 0)),
    }


# %% meetings · wrong: one number for the seed, and one ticket


def meetings():
    return {
        "machines": ((1, 3), (2, 1)),
        "tickets": ((0, 0), (67_108_864, 0)),
        "sheets": ((1, 1), (2, 0)),
    }


# %% meetings · wrong: machine 0 and evening 0


def meetings():
    return {
        "machines": ((0, 0), (0, 1)),
        "tickets": ((0, 0), (4294, 967_296)),
        "sheets": ((1, 1), (2, 0)),
    }


# %% meetings · wrong: the parent's evening and machine confused


def meetings():
    return {
        "machines": ((2, 1), (1, 3)),
        "tickets": ((0, 0), (4294, 967_296)),
        "sheets": ((1, 1), (2, 0)),
    }


# %% meetings · wrong: counts the places column by column


def meetings():
    return {
        "machines": ((1, 3), (2, 1)),
        "tickets": ((0, 0), (4294, 967_296)),
        "sheets": ((1, 2), (9, 0)),
    }


# %% meetings · wrong: a place outside, which is clamped


def meetings():
    return {
        "machines": ((1, 3), (2, 1)),
        "tickets": ((0, 0), (4294, 967_296)),
        "sheets": ((3, 9), (7, 0)),
    }


# %% meetings · wrong: the same place by a number below zero


def meetings():
    return {
        "machines": ((1, 3), (2, 1)),
        "tickets": ((0, 0), (4294, 967_296)),
        "sheets": ((-3, 1), (2, 0)),
    }


# %% meetings · wrong: rows differ, columns do not


def meetings():
    return {
        "machines": ((1, 3), (2, 1)),
        "tickets": ((0, 0), (4294, 967_296)),
        "sheets": ((0, 0), (0, 0)),
    }
