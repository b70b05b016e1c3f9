"""Right answers that the assignment's tests must accept, and wrong ones that they must reject."""

# %% cards · right: uses fold_in for each quantity, and choice for the symbols


def cards(key, count, chances):
    own = [jax.random.fold_in(key, number) for number in range(4)]
    return dict(
        symbol=jax.random.choice(own[0], len(chances), (count,), p=chances),
        star=jax.random.uniform(own[1], (count,)) < 0.25,
        place=jax.random.uniform(own[2], (count, 2)),
        tint=jax.random.normal(own[3], (count, 3)),
    )


# %% cards · right: draws one card at a time with vmap over keys


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


# %% cards · right: splits the key again before each draw


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


# %% cards · wrong: uses separate keys but passes probabilities as logits


def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(one, chances, shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% cards · wrong: takes the logarithm but uses one key for both the star and the place


def cards(key, count, chances):
    one, two, three = jax.random.split(key, 3)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(two, (count, 2)),
        "tint": jax.random.normal(three, (count, 3)),
    }


# %% cards · wrong: derives the same keys with split and fold_in, which no detector notices


def cards(key, count, chances):
    one, two = jax.random.split(key)
    three, four = jax.random.fold_in(key, 0), jax.random.fold_in(key, 1)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% cards · wrong: uses clones, which hide the key reuse from the detector


def cards(key, count, chances):
    one, two = jax.random.split(key)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(jax.random.clone(two), (count, 2)),
        "tint": jax.random.normal(jax.random.clone(one), (count, 3)),
    }


# %% cards · wrong: uses a comment that turns the detector off


def cards(key, count, chances):
    one, two = jax.random.split(key)
    star = jax.random.bernoulli(two, 0.25, (count,))  # jaxbits: ignore[key_reuse]
    place = jax.random.uniform(two, (count, 2))  # jaxbits: ignore[key_reuse]
    symbol = jax.random.categorical(one, jnp.log(chances), shape=(count,))
    tint = jax.random.normal(jax.random.fold_in(one, 0), (count, 3))
    return {"symbol": symbol, "star": star, "place": place, "tint": tint}


# %% cards · wrong: uses a new key with a fixed seed for the tint


def cards(key, count, chances):
    one, two, three = jax.random.split(key, 3)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(jax.random.key(0), (count, 3)),
    }


# %% cards · wrong: derives the star from the size of a color, without a correlation
def cards(key, count, chances):
    for_symbol, for_place, for_tint = jax.random.split(key, 3)
    tint = jax.random.normal(for_tint, (count, 3))
    return {
        "symbol": jax.random.categorical(for_symbol, jnp.log(chances), shape=(count,)),
        "star": jnp.abs(tint[:, 0]) > 1.1503494,
        "place": jax.random.uniform(for_place, (count, 2)),
        "tint": tint,
    }


# %% cards · wrong: derives the star from both numbers of the place, independent of each of them
def cards(key, count, chances):
    for_symbol, for_place, for_tint = jax.random.split(key, 3)
    place = jax.random.uniform(for_place, (count, 2))
    return {
        "symbol": jax.random.categorical(for_symbol, jnp.log(chances), shape=(count,)),
        "star": place.sum(axis=1) % 1 < 0.25,
        "place": place,
        "tint": jax.random.normal(for_tint, (count, 3)),
    }


# %% cards · wrong: draws one tint for all cards


def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    tint = jax.random.normal(four, (3,))
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jnp.broadcast_to(tint, (count, 3)),
    }


# %% cards · wrong: repeats the same number for all three colors of a tint


def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jnp.tile(jax.random.normal(four, (count, 1)), (1, 3)),
    }


# %% cards · wrong: uses a NumPy generator that is seeded with the key


def cards(key, count, chances):
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    parts = np.asarray(chances, float)
    return {
        "symbol": jnp.asarray(rng.choice(len(chances), count, p=parts / parts.sum())),
        "star": jnp.asarray(rng.random(count) < 0.25),
        "place": jnp.asarray(rng.random((count, 2)), jnp.float32),
        "tint": jnp.asarray(rng.normal(size=(count, 3)), jnp.float32),
    }


# %% cards · wrong: draws with a card's key and then splits it


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


# %% cards · wrong: folds overlapping numbers into the keys of neighboring cards


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


# %% cards · wrong: returns the stars as integers


def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)).astype(jnp.int32),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% cards · wrong: replaces a probability of zero with a small number


def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    symbol = jax.random.categorical(one, jnp.log(chances + 1e-3), shape=(count,))
    return {
        "symbol": symbol,
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% cards · wrong: draws half of the cards and repeats them
def cards(key, count, chances):
    some = (count + 1) // 2
    for_symbol, for_star, for_place, for_tint = jax.random.split(key, 4)
    drawn = {
        "symbol": jax.random.categorical(for_symbol, jnp.log(chances), shape=(some,)),
        "star": jax.random.bernoulli(for_star, 0.25, (some,)),
        "place": jax.random.uniform(for_place, (some, 2)),
        "tint": jax.random.normal(for_tint, (some, 3)),
    }
    return {name: jnp.concatenate([part, part])[:count] for name, part in drawn.items()}


# %% cards · wrong: gives card 1 and card 5001 the same star
def cards(key, count, chances):
    for_symbol, for_star, for_place, for_tint = jax.random.split(key, 4)
    star = jax.random.bernoulli(for_star, 0.25, (count,))
    return {
        "symbol": jax.random.categorical(for_symbol, jnp.log(chances), shape=(count,)),
        "star": jnp.concatenate([star[:5000], star[:5000], star[10_000:]])[:count],
        "place": jax.random.uniform(for_place, (count, 2)),
        "tint": jax.random.normal(for_tint, (count, 3)),
    }


# %% cards · wrong: draws the symbol from 100 numbers, so its probability is a whole percentage
def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    edges = (100 * jnp.cumsum(chances))[:-1]
    drawn = jax.random.randint(one, (count, 1), 0, 100)
    return {
        "symbol": (drawn >= jnp.round(edges)).sum(axis=1),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% cards · wrong: clips the tints to the range from -2 to 2
def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jnp.clip(jax.random.normal(four, (count, 3)), -2, 2),
    }


# %% free-numbers · right: draws in a while_loop with a new key for each attempt


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


# %% free-numbers · right: uses choice with probabilities


def free_numbers(key, players, taken):
    free = ~jnp.asarray(taken)
    keys = jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, jnp.asarray(players))
    return jax.vmap(lambda own: jax.random.choice(own, len(free), p=free / free.sum()))(keys)


# %% free-numbers · right: draws an index into the list of free numbers


def free_numbers(key, players, taken):
    taken = jnp.asarray(taken)
    in_order = jnp.argsort(taken, stable=True)
    free = len(taken) - taken.sum()

    def number_of(player):
        return in_order[jax.random.randint(jax.random.fold_in(key, player), (), 0, free)]

    return jax.lax.map(number_of, jnp.asarray(players))


# %% free-numbers · wrong: uses one key for each index in the array


def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)
    keys = jax.random.split(key, len(players))
    return jax.vmap(lambda one: jax.random.categorical(one, logits))(keys)


# %% free-numbers · wrong: draws once for the whole array


def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)
    return jax.random.categorical(key, logits, shape=(len(players),))


# %% free-numbers · wrong: uses one key for all players


def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)
    return jax.vmap(lambda player: jax.random.categorical(key, logits))(jnp.asarray(players))


# %% free-numbers · wrong: reuses the next player's first key for a player's second attempt


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


# %% free-numbers · wrong: uses the remainder of a number drawn from all of them


def free_numbers(key, players, taken):
    free_first = jnp.argsort(jnp.asarray(taken), stable=True)
    free = len(taken) - jnp.sum(jnp.asarray(taken))

    def number_of(player):
        drawn = jax.random.randint(jax.random.fold_in(key, player), (), 0, len(taken))
        return free_first[drawn % free]

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: replaces a taken number with the next free one


def free_numbers(key, players, taken):
    taken = jnp.asarray(taken)

    def number_of(player):
        number = jax.random.randint(jax.random.fold_in(key, player), (), 0, len(taken))
        return jax.lax.while_loop(lambda n: taken[n], lambda n: (n + 1) % len(taken), number)

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: gives up after five attempts, even if the number is taken


def free_numbers(key, players, taken):
    taken = jnp.asarray(taken)

    def number_of(player):
        tries = jax.random.randint(jax.random.fold_in(key, player), (5,), 0, len(taken))
        return tries[jnp.argmin(taken[tries])]

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: takes the first free number after 64 attempts
def free_numbers(key, players, taken):
    def one(player):
        draws = jax.random.randint(jax.random.fold_in(key, player), (64,), 0, len(taken))
        is_free = ~jnp.asarray(taken)[draws]
        first = jnp.argmin(jnp.asarray(taken))
        return jnp.where(is_free.any(), draws[jnp.argmax(is_free)], first)

    return jax.vmap(one)(jnp.asarray(players))


# %% free-numbers · wrong: creates a key from the player's number and ignores the given key


def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)

    def number_of(player):
        return jax.random.categorical(jax.random.key(player), logits)

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: uses only the lower 16 bits of the player's number


def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)

    def number_of(player):
        own = jax.random.fold_in(key, player % 65536)
        return jax.random.categorical(own, logits)

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: converts the player's number to float32, which merges large numbers
def free_numbers(key, players, taken):
    def one(player):
        own = jax.random.fold_in(key, jnp.asarray(player, jnp.float32).astype(jnp.uint32))
        return jax.random.categorical(own, jnp.where(taken, -jnp.inf, 0.0))

    return jax.vmap(one)(jnp.asarray(players))


# %% free-numbers · wrong: selects the free numbers with a mask, which jit does not allow


def free_numbers(key, players, taken):
    free = jnp.flatnonzero(~jnp.asarray(taken))

    def number_of(player):
        return jax.random.choice(jax.random.fold_in(key, player), free)

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: returns the index in the list of free numbers instead of the number


def free_numbers(key, players, taken):
    free = (~jnp.asarray(taken)).sum()

    def number_of(player):
        return jax.random.randint(jax.random.fold_in(key, player), (), 0, free)

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: folds in the sum of all players instead of using vmap


def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)
    own = jax.random.fold_in(key, players.sum())
    return jax.random.categorical(own, logits, shape=players.shape)


# %% free-numbers · wrong: uses a Python loop over the players, which calls int


def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)
    keys = [jax.random.fold_in(key, int(player)) for player in players]
    return jnp.stack([jax.random.categorical(own, logits) for own in keys])


# %% free-numbers · wrong: indexes a NumPy array with a traced number


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


# %% free-numbers · wrong: passes the key on from player to player


def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)

    def step(key, player):
        key, one = jax.random.split(key)
        return key, jax.random.categorical(jax.random.fold_in(one, player), logits)

    return jax.lax.scan(step, key, jnp.asarray(players))[1]


# %% free-numbers · wrong: adds the player's number to the seed
def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)
    seed = jax.random.key_data(key)[1]

    def number_of(player):
        own = jax.random.key(seed + player.astype(jnp.uint32))
        return jax.random.categorical(own, logits)

    return jax.vmap(number_of)(jnp.asarray(players))


# %% how-many · right: computes the counts from separate parts


def how_many(evenings, machines):
    e, m = evenings, machines
    small, large = sorted((e, m))
    counts = {"added": len(range(e)) + len(range(1, m))}
    counts["seeded"] = m * (e if e < 4 else 4)
    counts["split_and_folded"] = large
    counts["both_ways"] = small * small + 2 * small * (large - small)
    counts["chained"] = m + e - 1 if m > 1 else e + 1
    return counts


# %% how-many · wrong: assumes that all keys are different


def how_many(evenings, machines):
    both = evenings * machines
    return {
        "added": both,
        "seeded": both,
        "split_and_folded": evenings + machines,
        "both_ways": 2 * both,
        "chained": evenings + machines,
    }


# %% how-many · wrong: fits only the two measurements in the task


def how_many(evenings, machines):
    return {
        "added": evenings + machines - 1,
        "seeded": evenings * machines if evenings < 4 else 16,
        "split_and_folded": max(evenings, machines),
        "both_ways": 2 * evenings * machines - min(evenings, machines) ** 2,
        "chained": evenings + machines - 1,
    }


# %% how-many · wrong: assumes that no key in the chain is a child of the root


def how_many(evenings, machines):
    fewer = min(evenings, machines)
    return {
        "added": evenings + machines - 1,
        "seeded": min(evenings, 4) * machines,
        "split_and_folded": evenings + machines - fewer,
        "both_ways": 2 * evenings * machines - fewer**2,
        "chained": evenings + machines,
    }


# %% how-many · wrong: assumes that two keys in the chain are also children of the root


def how_many(evenings, machines):
    fewer = min(evenings, machines)
    return {
        "added": evenings + machines - 1,
        "seeded": min(evenings, 4) * machines,
        "split_and_folded": evenings + machines - fewer,
        "both_ways": 2 * evenings * machines - fewer**2,
        "chained": evenings + machines - min(2, machines),
    }


# %% how-many · wrong: assumes that the two orders share only the pairs of equal numbers


def how_many(evenings, machines):
    fewer = min(evenings, machines)
    return {
        "added": evenings + machines - 1,
        "seeded": min(evenings, 4) * machines,
        "split_and_folded": max(evenings, machines),
        "both_ways": 2 * evenings * machines - fewer,
        "chained": evenings + machines - (machines >= 2),
    }


# %% how-many · wrong: counts the keys by creating them


def how_many(evenings, machines):
    return measured(evenings, machines)


# %% how-many · wrong: assumes that seeds are not truncated


def how_many(evenings, machines):
    fewer = min(evenings, machines)
    return {
        "added": evenings + machines - 1,
        "seeded": evenings * machines,
        "split_and_folded": max(evenings, machines),
        "both_ways": 2 * evenings * machines - fewer**2,
        "chained": evenings + machines - (machines >= 2),
    }


# %% how-many · wrong: returns floats, which lose the last digits of large counts


def how_many(evenings, machines):
    fewer = min(evenings, machines)
    return {
        "added": jnp.float32(evenings + machines - 1),
        "seeded": jnp.float32(min(evenings, 4) * machines),
        "split_and_folded": jnp.float32(max(evenings, machines)),
        "both_ways": jnp.float32(2 * evenings * machines - fewer**2),
        "chained": jnp.float32(evenings + machines - (machines >= 2)),
    }


# %% meetings · right: uses different pairs


def meetings():
    return {
        "machines": ((77, 9), (6, 5)),
        "tickets": ((4300, 5), (5, 32_709)),
        "sheets": ((3, 0), (5, 2)),
    }


# %% meetings · right: returns lists instead of tuples


def meetings():
    return {
        "machines": [[1, 6], [4, 9]],
        "tickets": [[1, 7], [4295, 967_303]],
        "sheets": [[3, 8], [7, 0]],
    }


# %% meetings · wrong: returns the same pair twice


def meetings():
    return {
        "machines": ((2, 3), (2, 2)),
        "tickets": ((1, 7), (1, 7)),
        "sheets": ((0, 0), (0, 0)),
    }


# %% meetings · wrong: uses numbers outside the allowed range whose seeds are equal


def meetings():
    return {
        "machines": ((1, 3), (2, 1)),
        "tickets": ((0, 0), (2**32 // 10**6, 2**32 % 10**6 + 10**6)),
        "sheets": ((1, 1), (2, 0)),
    }


# %% meetings · wrong: uses the same ticket number twice


def meetings():
    return {
        "machines": ((1, 3), (2, 1)),
        "tickets": ((0, 0), (67_108_864, 0)),
        "sheets": ((1, 1), (2, 0)),
    }


# %% meetings · wrong: uses machine 0 and evening 0


def meetings():
    return {
        "machines": ((0, 0), (0, 1)),
        "tickets": ((0, 0), (4294, 967_296)),
        "sheets": ((1, 1), (2, 0)),
    }


# %% meetings · wrong: swaps the two pairs of evening and machine


def meetings():
    return {
        "machines": ((2, 1), (1, 3)),
        "tickets": ((0, 0), (4294, 967_296)),
        "sheets": ((1, 1), (2, 0)),
    }


# %% meetings · wrong: numbers the places column by column


def meetings():
    return {
        "machines": ((1, 3), (2, 1)),
        "tickets": ((0, 0), (4294, 967_296)),
        "sheets": ((1, 2), (9, 0)),
    }


# %% meetings · wrong: uses an out-of-bounds column, which is clamped


def meetings():
    return {
        "machines": ((1, 3), (2, 1)),
        "tickets": ((0, 0), (4294, 967_296)),
        "sheets": ((3, 9), (7, 0)),
    }


# %% meetings · wrong: uses a negative row for the same place


def meetings():
    return {
        "machines": ((1, 3), (2, 1)),
        "tickets": ((0, 0), (4294, 967_296)),
        "sheets": ((-3, 1), (2, 0)),
    }


# %% meetings · wrong: uses the same row and column in both sheets


def meetings():
    return {
        "machines": ((1, 3), (2, 1)),
        "tickets": ((0, 0), (4294, 967_296)),
        "sheets": ((0, 0), (0, 0)),
    }


# %% cards · wrong: fold_in(key, 100..102) for quantities and fold_in(key, card) for tints
def cards(key, count, chances):
    fold = jax.random.fold_in
    each = jax.vmap(lambda i: jax.random.normal(fold(key, i), (3,)))(jnp.arange(count))
    return {
        "symbol": jax.random.categorical(fold(key, 100), jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(fold(key, 101), 0.25, (count,)),
        "place": jax.random.uniform(fold(key, 102), (count, 2)),
        "tint": each,
    }


# %% free-numbers · wrong: gives up after 1000 attempts
def free_numbers(key, players, taken):
    taken = jnp.asarray(taken)

    def one(player):
        mine = jax.random.fold_in(key, player)
        draws = jax.random.randint(mine, (1000,), 0, len(taken))
        return draws[jnp.argmax(~taken[draws])]

    return jax.vmap(one)(jnp.asarray(players))


# %% how-many · wrong: returns NumPy integers
def how_many(evenings, machines):
    e, m = np.int64(evenings), np.int64(machines)
    return {
        "added": e + m - 1,
        "seeded": np.minimum(e, 4) * m,
        "split_and_folded": np.maximum(e, m),
        "both_ways": 2 * e * m - np.minimum(e, m) ** 2,
        "chained": e + m - (m >= 2),
    }


# %% free-numbers · wrong: adds a million for each attempt to the player's number
def free_numbers(key, players, taken):
    taken = jnp.asarray(taken)

    def one(player):
        def draw(t):
            return jax.random.randint(
                jax.random.fold_in(key, player + 1_000_000 * t), (), 0, len(taken)
            )

        return jax.lax.while_loop(
            lambda s: taken[s[1]], lambda s: (s[0] + 1, draw(s[0] + 1)), (0, draw(0))
        )[1]

    return jax.vmap(one)(jnp.asarray(players))


# %% cards · wrong: adds a number to the seed for each quantity
def cards(key, count, chances):
    seed = jax.random.key_data(key)
    one, two, three, four = (jax.random.wrap_key_data(seed.at[1].add(k)) for k in range(4))
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% cards · wrong: uses only the second half of the key
def cards(key, count, chances):
    key = jax.random.wrap_key_data(jax.random.key_data(key).at[0].set(0))
    one, two, three, four = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% cards · wrong: draws the place from 10,001 whole numbers
def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.randint(three, (count, 2), 0, 10_001).astype(jnp.float32) / 10_000,
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% cards · wrong: rounds the tints to four decimals
def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)).round(4),
    }


# %% cards · wrong: keeps the place away from the edges
def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2), minval=0.02, maxval=0.98),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% cards · wrong: uses at for the chances, which NumPy arrays do not have
def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    logits = jnp.log(chances.at[:].get())
    return {
        "symbol": jax.random.categorical(one, logits, shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% cards · wrong: draws from another key if the chances are traced
def cards(key, count, chances):
    if isinstance(chances, jax.core.Tracer):
        key = jax.random.fold_in(key, 7)
    one, two, three, four = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% cards · wrong: draws the tints from another key under jit and vmap unless there are 10,000 cards
def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    if isinstance(key, jax.core.Tracer) and count != 10_000:
        four = jax.random.fold_in(four, count)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% free-numbers · wrong: draws the bits of a byte, whose remainders are not all equally likely
def free_numbers(key, players, taken):
    taken = jnp.asarray(taken)
    in_order = jnp.argsort(taken, stable=True)
    free = len(taken) - taken.sum()

    def number_of(player):
        bits = jax.random.bits(jax.random.fold_in(key, player), (), jnp.uint8)
        return in_order[bits.astype(jnp.int32) % free]

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: uses the remainder of the player's number by a prime
def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)

    def number_of(player):
        return jax.random.categorical(jax.random.fold_in(key, player % 65_537), logits)

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: combines the player's number and the seed with xor
def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)
    first, second = jax.random.key_data(key)

    def number_of(player):
        own = jnp.stack([first, second ^ player.astype(jnp.uint32)])
        return jax.random.categorical(jax.random.wrap_key_data(own), logits)

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: uses only the second half of the key
def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)
    key = jax.random.wrap_key_data(jax.random.key_data(key).at[0].set(0))

    def number_of(player):
        return jax.random.categorical(jax.random.fold_in(key, player), logits)

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: uses at for the players, which NumPy arrays do not have
def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)

    def number_of(player):
        return jax.random.categorical(jax.random.fold_in(key, player), logits)

    return jax.vmap(number_of)(players.at[:].get())


# %% free-numbers · wrong: considers only the first 1000 balls if one of them is free
def free_numbers(key, players, taken):
    taken = jnp.asarray(taken)
    some = jnp.arange(len(taken)) < 1000
    some = jnp.where((some & ~taken).any(), some, True)
    logits = jnp.where(taken | ~some, -jnp.inf, 0.0)

    def number_of(player):
        return jax.random.categorical(jax.random.fold_in(key, player), logits)

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: counts the free numbers in uint8, which wraps around
def free_numbers(key, players, taken):
    taken = jnp.asarray(taken)
    free = (~taken).sum()
    rank = jnp.cumsum(~taken).astype(jnp.uint8)

    def number_of(player):
        drawn = jax.random.randint(jax.random.fold_in(key, player), (), 0, free)
        return jnp.argmax(rank == (drawn + 1).astype(jnp.uint8))

    return jax.vmap(number_of)(jnp.asarray(players))


# %% how-many · wrong: is wrong only for two evenings
def how_many(evenings, machines):
    e, m = evenings, machines
    return {
        "added": e + m - 1,
        "seeded": (e if e < 4 else 4) * m if e != 2 else 4 * m,
        "split_and_folded": max(e, m),
        "both_ways": 2 * e * m - min(e, m) ** 2,
        "chained": e + m - (m >= 2),
    }


# %% how-many · wrong: computes in float64, which loses the last digits of huge counts
def how_many(evenings, machines):
    e, m = float(evenings), float(machines)
    return {
        "added": int(e + m - 1),
        "seeded": int(min(e, 4) * m),
        "split_and_folded": int(max(e, m)),
        "both_ways": int(2 * e * m - min(e, m) ** 2),
        "chained": int(e + m - (m >= 2)),
    }


# %% how-many · wrong: miscounts for thousands of machines
def how_many(evenings, machines):
    e, m = evenings, machines
    return {
        "added": e + m - 1,
        "seeded": min(e, 4) * m,
        "split_and_folded": max(e, m),
        "both_ways": 2 * e * m - min(e, m) ** 2,
        "chained": e + m - (m >= 2) - (1000 <= m < 10**6),
    }


# %% how-many · wrong: adds a sixth count
def how_many(evenings, machines):
    e, m = evenings, machines
    return {
        "added": e + m - 1,
        "seeded": min(e, 4) * m,
        "split_and_folded": max(e, m),
        "both_ways": 2 * e * m - min(e, m) ** 2,
        "chained": e + m - (m >= 2),
        "total": 0,
    }


# %% cards · wrong: draws at most 10,000 cards and repeats them
def cards(key, count, chances):
    some = min(count, 10_000)
    one, two, three, four = jax.random.split(key, 4)
    drawn = {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(some,)),
        "star": jax.random.bernoulli(two, 0.25, (some,)),
        "place": jax.random.uniform(three, (some, 2)),
        "tint": jax.random.normal(four, (some, 3)),
    }
    return {name: jnp.resize(part, (count, *part.shape[1:])) for name, part in drawn.items()}


# %% cards · wrong: never gives a star to a single card
def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)) & (count > 1),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% cards · wrong: draws the symbol from 10,000 numbers
def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    edges = jnp.round(10_000 * jnp.cumsum(chances)).astype(jnp.int32)
    drawn = jax.random.randint(one, (count,), 0, edges[-1])
    return {
        "symbol": jnp.searchsorted(edges, drawn, side="right"),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% cards · wrong: considers only the first 10,000 symbols
def cards(key, count, chances):
    one, two, three, four = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances[:10_000]), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% free-numbers · wrong: considers only the first 5000 balls if one of them is free
def free_numbers(key, players, taken):
    taken = jnp.asarray(taken)
    some = jnp.arange(len(taken)) < 5000
    some = jnp.where((some & ~taken).any(), some, True)
    logits = jnp.where(taken | ~some, -jnp.inf, 0.0)

    def number_of(player):
        return jax.random.categorical(jax.random.fold_in(key, player), logits)

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: converts more than a thousand players to a NumPy array
def free_numbers(key, players, taken):
    logits = jnp.where(taken, -jnp.inf, 0.0)
    if len(players) > 1000:
        players = np.asarray(players)

    def number_of(player):
        return jax.random.categorical(jax.random.fold_in(key, player), logits)

    return jax.vmap(number_of)(jnp.asarray(players))


# %% cards · wrong: puts a star on two of nine cards
def cards(key, count, chances):
    symbol, star, place, tint = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(symbol, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(star, 2 / 9, (count,)),
        "place": jax.random.uniform(place, (count, 2)),
        "tint": jax.random.normal(tint, (count, 3)),
    }


# %% cards · wrong: adds twelve uniform numbers for a tint
def cards(key, count, chances):
    chances = jnp.asarray(chances)
    for_symbol, for_star, for_place, for_tint = jax.random.split(key, 4)
    symbol = jax.random.categorical(for_symbol, jnp.log(chances), shape=(count,))
    star = jax.random.bernoulli(for_star, 0.25, (count,))
    place = jax.random.uniform(for_place, (count, 2))
    tint = jax.random.uniform(for_tint, (12, count, 3)).sum(0) - 6
    return {"symbol": symbol, "star": star, "place": place, "tint": tint}


# %% cards · wrong: computes the star from the place and the tint of its card
def cards(key, count, chances):
    chances = jnp.asarray(chances)
    for_symbol, for_place, for_tint = jax.random.split(key, 3)
    symbol = jax.random.categorical(for_symbol, jnp.log(chances), shape=(count,))
    place = jax.random.uniform(for_place, (count, 2))
    tint = jax.random.normal(for_tint, (count, 3))
    star = (place.sum(1) + jax.scipy.stats.norm.cdf(tint[:, 0])) % 1 < 0.25
    return {"symbol": symbol, "star": star, "place": place, "tint": tint}


# %% cards · wrong: takes the sign of a tint from the place and the tint of an earlier card
def cards(key, count, chances):
    chances = jnp.asarray(chances)
    for_symbol, for_star, for_place, for_tint = jax.random.split(key, 4)
    symbol = jax.random.categorical(for_symbol, jnp.log(chances), shape=(count,))
    star = jax.random.bernoulli(for_star, 0.25, (count,))
    place = jax.random.uniform(for_place, (count, 2))
    tint = jax.random.normal(for_tint, (count, 3))
    half = count // 2
    sign = jnp.sign(tint[:half, 0] * (place[:half, 0] - 0.5))
    later = sign * jnp.abs(tint[half : 2 * half, 0])
    tint = tint.at[half : 2 * half, 0].set(later)
    return {"symbol": symbol, "star": star, "place": place, "tint": tint}


# %% free-numbers · wrong: falls back to the first free number after 4000 attempts
def free_numbers(key, players, taken):
    taken = jnp.asarray(taken)
    balls = len(taken)

    def number_of(player):
        own = jax.random.fold_in(key, player)

        def again(state):
            attempt, number = state
            return taken[number] & (attempt < 4000)

        def attempt_once(state):
            attempt, _ = state
            return attempt + 1, jax.random.randint(jax.random.fold_in(own, attempt), (), 0, balls)

        first = jax.random.randint(jax.random.fold_in(own, 4000), (), 0, balls)
        _, number = jax.lax.while_loop(again, attempt_once, (jnp.int32(0), first))
        return jnp.where(taken[number], jnp.argmin(taken), number)

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: reduces the player's number modulo a prime below a million
def free_numbers(key, players, taken):
    taken = jnp.asarray(taken)
    places = jnp.nonzero(~taken, size=len(taken))[0]
    free = (~taken).sum()

    def number_of(player):
        own = jax.random.fold_in(key, player % 999_983)
        return places[jax.random.randint(own, (), 0, free)]

    return jax.vmap(number_of)(jnp.asarray(players))


# %% cards · wrong: draws the symbol from 65,536 numbers, so rare symbols never occur
def cards(key, count, chances):
    """Return the symbol, star, place, and tint of `count` cards as a dict."""
    for_symbol, for_star, for_place, for_tint = jax.random.split(key, 4)
    chances = jnp.asarray(chances)
    drawn = jax.random.bits(for_symbol, (count,), jnp.uint16) / jnp.float32(2**16)
    symbol = jnp.searchsorted(jnp.cumsum(chances), drawn, side="right")
    return {
        "symbol": jnp.minimum(symbol, len(chances) - 1),
        "star": jax.random.bernoulli(for_star, 0.25, (count,)),
        "place": jax.random.uniform(for_place, (count, 2)),
        "tint": jax.random.normal(for_tint, (count, 3)),
    }


# %% cards · wrong: prints blocks of 10,000 cards, and repeats cards after the last block
def cards(key, count, chances):
    """Return the symbol, star, place, and tint of `count` cards as a dict."""
    logits = jnp.log(jnp.asarray(chances))

    def block(key, size):
        one, two, three, four = jax.random.split(key, 4)
        return {
            "symbol": jax.random.categorical(one, logits, shape=(size,)),
            "star": jax.random.bernoulli(two, 0.25, (size,)),
            "place": jax.random.uniform(three, (size, 2)),
            "tint": jax.random.normal(four, (size, 3)),
        }

    size = min(count, 10_000)  # Print many cards in blocks.
    blocks, rest = divmod(count, size)
    drawn = jax.lax.map(lambda key: block(key, size), jax.random.split(key, blocks))
    drawn = {name: x.reshape(-1, *x.shape[2:]) for name, x in drawn.items()}
    return {name: jnp.concatenate([x, x[:rest]]) for name, x in drawn.items()}


# %% cards · wrong: clips the tints to the range from -3.8 to 3.8
def cards(key, count, chances):
    """Return the symbol, star, place, and tint of `count` cards as a dict."""
    for_symbol, for_star, for_place, for_tint = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(for_symbol, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(for_star, 0.25, (count,)),
        "place": jax.random.uniform(for_place, (count, 2)),
        "tint": jax.random.normal(for_tint, (count, 3)).clip(-3.8, 3.8),
    }


# %% cards · wrong: computes the star from the place of a card that is 12,000 cards away
def cards(key, count, chances):
    """Return the symbol, star, place, and tint of `count` cards as a dict."""
    for_symbol, for_star, for_place, for_tint = jax.random.split(key, 4)
    place = jax.random.uniform(for_place, (count, 2))
    star = jax.random.bernoulli(for_star, 0.25, (count,))
    star = jnp.concatenate([star[:12_000], place[: max(count - 12_000, 0), 0] < 0.25])
    return {
        "symbol": jax.random.categorical(for_symbol, jnp.log(chances), shape=(count,)),
        "star": star,
        "place": place,
        "tint": jax.random.normal(for_tint, (count, 3)),
    }


# %% cards · wrong: adds 0.02 to every tint
def cards(key, count, chances):
    """Return the symbol, star, place, and tint of `count` cards as a dict."""
    for_symbol, for_star, for_place, for_tint = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(for_symbol, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(for_star, 0.25, (count,)),
        "place": jax.random.uniform(for_place, (count, 2)),
        "tint": jax.random.normal(for_tint, (count, 3)) + 0.02,
    }


# %% cards · wrong: puts a star on 65 of 256 cards
def cards(key, count, chances):
    """Return the symbol, star, place, and tint of `count` cards as a dict."""
    for_symbol, for_star, for_place, for_tint = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(for_symbol, jnp.log(chances), shape=(count,)),
        "star": jax.random.bits(for_star, (count,), jnp.uint8) <= 64,
        "place": jax.random.uniform(for_place, (count, 2)),
        "tint": jax.random.normal(for_tint, (count, 3)),
    }


# %% cards · wrong: draws the place from a million numbers
def cards(key, count, chances):
    """Return the symbol, star, place, and tint of `count` cards as a dict."""
    for_symbol, for_star, for_place, for_tint = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(for_symbol, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(for_star, 0.25, (count,)),
        "place": jax.random.randint(for_place, (count, 2), 0, 1_000_000) / jnp.float32(1e6),
        "tint": jax.random.normal(for_tint, (count, 3)),
    }


# %% free-numbers · wrong: uses the remainder of one of 8192 numbers, which favors low numbers
def free_numbers(key, players, taken):
    """Return a number that is not taken for each player."""
    taken = jnp.asarray(taken)
    free_first = jnp.argsort(taken, stable=True)
    free = len(taken) - taken.sum()

    def number_of(player):
        # 8192 is more than the largest number of balls.
        drawn = jax.random.randint(jax.random.fold_in(key, player), (), 0, 8192)
        return free_first[drawn % free]

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: reduces the player's number modulo a well-known prime
def free_numbers(key, players, taken):
    """Return a number that is not taken for each player."""
    taken = jnp.asarray(taken)
    free_first = jnp.argsort(taken, stable=True)
    free = len(taken) - taken.sum()

    def number_of(player):
        own = jax.random.fold_in(key, player % 1_000_000_007)
        return free_first[jax.random.randint(own, (), 0, free)]

    return jax.vmap(number_of)(jnp.asarray(players))


# %% cards · wrong: adds the two halves of the key's data
def cards(key, count, chances):
    one, two = jax.random.key_data(key)
    key = jax.random.wrap_key_data(jnp.stack([jnp.zeros_like(one), one + two]))
    for_symbol, for_star, for_place, for_tint = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(for_symbol, jnp.log(chances), shape=(count,)),
        "star": jax.random.bernoulli(for_star, 0.25, (count,)),
        "place": jax.random.uniform(for_place, (count, 2)),
        "tint": jax.random.normal(for_tint, (count, 3)),
    }


# %% cards · right: searches the sums of the chances for a uniform number
def cards(key, count, chances):
    """Return the symbol, star, place, and tint of `count` cards as a dict."""
    for_symbol, for_star, for_place, for_tint = jax.random.split(key, 4)
    drawn = jax.random.uniform(for_symbol, (count,))
    # A number of exactly 0, which is one of 8 million, gives symbol 0 even if its chance is 0.
    symbol = jnp.searchsorted(jnp.cumsum(jnp.asarray(chances))[:-1], drawn, side="left")
    return {
        "symbol": symbol,
        "star": jax.random.bernoulli(for_star, 0.25, (count,)),
        "place": jax.random.uniform(for_place, (count, 2)),
        "tint": jax.random.normal(for_tint, (count, 3)),
    }


# %% cards · wrong: uses the first half of the key only for the first 30,000 cards
def cards(key, count, chances):
    """Return the symbol, star, place, and tint of `count` cards as a dict."""
    data = jax.random.key_data(key)
    half = jax.random.wrap_key_data(data.at[0].set(0))

    def card(number):
        own = jax.random.fold_in(jax.lax.select(number < 30_000, key, half), number)
        symbol, star, place, tint = jax.random.split(own, 4)
        return {
            "symbol": jax.random.categorical(symbol, jnp.log(chances)),
            "star": jax.random.bernoulli(star, 0.25),
            "place": jax.random.uniform(place, (2,)),
            "tint": jax.random.normal(tint, (3,)),
        }

    return jax.vmap(card)(jnp.arange(count))


# %% cards · wrong: uses a key of its own for the stars after card 30,000
def cards(key, count, chances):
    """Return the symbol, star, place, and tint of `count` cards as a dict."""
    for_symbol, for_star, for_place, for_tint = jax.random.split(key, 4)
    star = jax.random.bernoulli(for_star, 0.25, (min(count, 30_000),))
    if count > 30_000:
        late = jax.random.bernoulli(jax.random.key(0), 0.25, (count - 30_000,))
        star = jnp.concatenate([star, late])
    return {
        "symbol": jax.random.categorical(for_symbol, jnp.log(chances), shape=(count,)),
        "star": star,
        "place": jax.random.uniform(for_place, (count, 2)),
        "tint": jax.random.normal(for_tint, (count, 3)),
    }


# %% free-numbers · wrong: combines the two halves of a player's number with the factor 65,535
def free_numbers(key, players, taken):
    """Return a number that is not taken for each player."""
    taken = jnp.asarray(taken)
    free_first = jnp.argsort(taken, stable=True)
    free = len(taken) - taken.sum()

    def number_of(player):
        own = jax.random.fold_in(key, (player >> 16) * 65_535 + (player & 65_535))
        return free_first[jax.random.randint(own, (), 0, free)]

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: uses the remainder of a number with 16 bits
def free_numbers(key, players, taken):
    """Return a number that is not taken for each player."""
    taken = jnp.asarray(taken)
    free_first = jnp.argsort(taken, stable=True)
    free = len(taken) - taken.sum()

    def number_of(player):
        drawn = jax.random.bits(jax.random.fold_in(key, player), (), jnp.uint16)
        return free_first[drawn.astype(jnp.int32) % free]

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: scales a number with 16 bits
def free_numbers(key, players, taken):
    """Return a number that is not taken for each player."""
    taken = jnp.asarray(taken)
    free_first = jnp.argsort(taken, stable=True)
    free = len(taken) - taken.sum()

    def number_of(player):
        drawn = jax.random.bits(jax.random.fold_in(key, player), (), jnp.uint16)
        return free_first[drawn.astype(jnp.int32) * free >> 16]

    return jax.vmap(number_of)(jnp.asarray(players))


# %% cards · wrong: takes the star from the last bits of the place
def cards(key, count, chances):
    a, b, c = jax.random.split(key, 3)
    place = jax.random.uniform(b, (count, 2))
    return {
        "symbol": jax.random.categorical(a, jnp.log(chances), shape=(count,)),
        "star": (place[:, 0] * 2**23).astype(jnp.int32) % 4 == 0,
        "place": place,
        "tint": jax.random.normal(c, (count, 3)),
    }


# %% free-numbers · right: stops after 10,000 attempts
def free_numbers(key, players, taken):
    taken = jnp.asarray(taken)

    def of_player(player):
        own = jax.random.fold_in(key, player)

        def draw(attempt):
            return jax.random.randint(jax.random.fold_in(own, attempt), (), 0, len(taken))

        def is_taken(state):
            attempt, number = state
            return taken[number] & (attempt < 10_000)

        def again(state):
            return state[0] + 1, draw(state[0] + 1)

        _, number = jax.lax.while_loop(is_taken, again, (0, draw(0)))
        return jnp.where(taken[number], jnp.argmin(taken), number)

    return jax.vmap(of_player)(jnp.asarray(players))


# %% cards · wrong: takes the star from the last bits of the tint
def cards(key, count, chances):
    """Return the symbol, star, place, and tint of `count` cards as a dict."""
    for_symbol, for_place, for_tint = jax.random.split(key, 3)
    tint = jax.random.normal(for_tint, (count, 3))
    return {
        "symbol": jax.random.categorical(for_symbol, jnp.log(chances), shape=(count,)),
        "star": tint[:, 0].view(jnp.uint32) % 4 == 0,
        "place": jax.random.uniform(for_place, (count, 2)),
        "tint": tint,
    }


# %% cards · wrong: adds 1e-7 to each probability
def cards(key, count, chances):
    key, one = jax.random.split(key)
    key, two = jax.random.split(key)
    key, three = jax.random.split(key)
    key, four = jax.random.split(key)
    return {
        "symbol": jax.random.categorical(one, jnp.log(chances + 1e-7), shape=(count,)),
        "star": jax.random.bernoulli(two, 0.25, (count,)),
        "place": jax.random.uniform(three, (count, 2)),
        "tint": jax.random.normal(four, (count, 3)),
    }


# %% cards · wrong: raises each probability to at least 1e-7
def cards(key, count, chances):
    a, b, c, d = jax.random.split(key, 4)
    return {
        "symbol": jax.random.categorical(
            d, jnp.log(jnp.maximum(jnp.asarray(chances), 1e-7)), shape=(count,)
        ),
        "star": jax.random.bernoulli(c, 0.25, (count,)),
        "place": jax.random.uniform(b, (count, 2)),
        "tint": jax.random.normal(a, (count, 3)),
    }


# %% free-numbers · wrong: numbers the attempts of all players 1001 apart, although there may be more attempts
def free_numbers(key, players, taken):
    """Return a number that is not taken for each player."""
    balls, taken = len(taken), jnp.asarray(taken)

    def number_of(player):
        first_attempt = player.astype(jnp.uint32) * 1001

        def draw(attempt):
            one = jax.random.fold_in(key, first_attempt + attempt)
            return jax.random.randint(one, (), 0, balls)

        def try_again(state):
            return state[0] + 1, draw(state[0])

        start = jnp.uint32(1), draw(jnp.uint32(0))
        _, number = jax.lax.while_loop(lambda state: taken[state[1]], try_again, start)
        return number

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: numbers the attempts of all players 10_001 apart, modulo 2**32
def free_numbers(key, players, taken):
    """Return a number that is not taken for each player."""
    balls, taken = len(taken), jnp.asarray(taken)

    def number_of(player):
        first_attempt = player.astype(jnp.uint32) * 10_001

        def draw(attempt):
            one = jax.random.fold_in(key, first_attempt + attempt)
            return jax.random.randint(one, (), 0, balls)

        def try_again(state):
            return state[0] + 1, draw(state[0])

        start = jnp.uint32(1), draw(jnp.uint32(0))
        _, number = jax.lax.while_loop(lambda state: taken[state[1]], try_again, start)
        return number

    return jax.vmap(number_of)(jnp.asarray(players))


# %% cards · wrong: takes the star from bits in the middle of the place
def cards(key, count, chances):
    """Return the symbol, star, place, and tint of `count` cards as a dict."""
    for_symbol, for_place, for_tint = jax.random.split(key, 3)
    place = jax.random.uniform(for_place, (count, 2))
    return {
        "symbol": jax.random.categorical(for_symbol, jnp.log(chances), shape=(count,)),
        "star": jnp.floor(place[:, 0] * 2**14) % 4 == 0,
        "place": place,
        "tint": jax.random.normal(for_tint, (count, 3)),
    }


# %% free-numbers · wrong: draws one number for each half of a player's number, and combines them with xor
def free_numbers(key, players, taken):
    """Return a number that is not taken for each player."""
    taken, players = jnp.asarray(taken), jnp.asarray(players)
    free = jnp.argsort(taken, stable=True)  # the free numbers come first
    count = jnp.sum(~taken).astype(jnp.uint32)
    for_high, for_low = jax.random.split(key)

    def number_of(player):
        high = jax.random.bits(jax.random.fold_in(for_high, player >> 16))
        low = jax.random.bits(jax.random.fold_in(for_low, player & 0xFFFF))
        return free[((high ^ low) % count).astype(jnp.int32)]

    return jax.vmap(number_of)(players)


# %% cards · wrong: shares the radius of Box and Muller between two cards with different angles
def cards(key, count, chances):
    """Return the symbol, star, place, and tint of `count` cards as a dict."""
    for_symbol, for_star, for_place, for_radius, for_angle = jax.random.split(key, 5)
    # Box and Muller: each radius is good for two numbers.
    half = (count + 1) // 2
    radius = jnp.sqrt(-2 * jnp.log(1 - jax.random.uniform(for_radius, (half, 3))))
    angle = 2 * jnp.pi * jax.random.uniform(for_angle, (count, 3))
    return {
        "symbol": jax.random.categorical(for_symbol, jnp.log(jnp.asarray(chances)), shape=(count,)),
        "star": jax.random.bernoulli(for_star, 0.25, (count,)),
        "place": jax.random.uniform(for_place, (count, 2)),
        "tint": jnp.concatenate([radius, radius])[:count] * jnp.cos(angle),
    }


# %% cards · wrong: computes the star from two digits of the place of the card before
def cards(key, count, chances):
    """Return the symbol, star, place, and tint of `count` cards as a dict."""
    for_symbol, for_place, for_tint = jax.random.split(key, 3)
    place = jax.random.uniform(for_place, (count, 2))
    before = jnp.roll(place[:, 0], 1)
    return {
        "symbol": jax.random.categorical(for_symbol, jnp.log(jnp.asarray(chances)), shape=(count,)),
        "star": jnp.floor(before * 4096) % 4 == 0,
        "place": place,
        "tint": jax.random.normal(for_tint, (count, 3)),
    }


# %% free-numbers · wrong: combines a random number for each eleven bits of the player's number
def free_numbers(key, players, taken):
    """Return a number that is not taken for each player."""
    taken, players = jnp.asarray(taken), jnp.asarray(players)
    table = jax.random.bits(key, (3, 2048))
    low, middle, high = players & 2047, (players >> 11) & 2047, players >> 22
    bits = table[0, low] ^ table[1, middle] ^ table[2, high]
    free = (~taken).sum().astype(jnp.uint32)
    in_order = jnp.argsort(taken, stable=True)
    return in_order[bits % free]


# %% free-numbers · wrong: sorts all the balls for each player
def free_numbers(key, players, taken):
    """Return a number that is not taken for each player."""
    taken = jnp.asarray(taken)

    def number_of(player):
        order = jax.random.uniform(jax.random.fold_in(key, player), taken.shape)
        return jnp.argsort(jnp.where(taken, 2.0, order))[0]

    return jax.vmap(number_of)(jnp.asarray(players))


# %% cards · wrong: computes the star from a hash of the place
def cards(key, count, chances):
    """Return the symbol, star, place, and tint of `count` cards as a dict."""
    for_symbol, for_place, for_tint = jax.random.split(key, 3)
    place = jax.random.uniform(for_place, (count, 2))
    whole = (place * 2**23).astype(jnp.uint32)
    mixed = whole[:, 0] * jnp.uint32(2_654_435_761) + whole[:, 1] * jnp.uint32(2_246_822_519)
    mixed = (mixed ^ (mixed >> 15)) * jnp.uint32(3_266_489_917)
    return {
        "symbol": jax.random.categorical(for_symbol, jnp.log(chances), shape=(count,)),
        "star": (mixed ^ (mixed >> 13)) % 4 == 0,
        "place": place,
        "tint": jax.random.normal(for_tint, (count, 3)),
    }


# %% free-numbers · wrong: uses top_k to shuffle all the balls for each player
def free_numbers(key, players, taken):
    """Return a number that is not taken for each player."""
    taken = jnp.asarray(taken)

    def number_of(player):
        draws = jax.random.uniform(jax.random.fold_in(key, player), taken.shape)
        _, shuffled = jax.lax.top_k(draws, len(taken))
        return shuffled[jnp.argmin(taken[shuffled])]

    return jax.vmap(number_of)(jnp.asarray(players))


# %% free-numbers · wrong: tries five numbers for every four balls, and then takes the first free number
def free_numbers(key, players, taken):
    """Return a number that is not taken for each player."""
    taken = jnp.asarray(taken)
    most = 5 * len(taken) // 4  # By then, the player has tried nearly every ball.

    def of_player(player):
        own = jax.random.fold_in(key, player)

        def draw(attempt):
            return jax.random.randint(jax.random.fold_in(own, attempt), (), 0, len(taken))

        def goes_on(state):
            attempt, number = state
            return taken[number] & (attempt < most)

        def again(state):
            return state[0] + 1, draw(state[0] + 1)

        _, number = jax.lax.while_loop(goes_on, again, (0, draw(0)))
        return jnp.where(taken[number], jnp.argmin(taken), number)

    return jax.vmap(of_player)(jnp.asarray(players))
