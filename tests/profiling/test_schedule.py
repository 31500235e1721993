from nnirp.profiling.schedule import by_weights, parts_of, process_key, retested, schedule
from nnirp.profiling.settings import ProfileSettings


def test_two_measurements_of_a_sample_are_half_a_campaign_apart(make_catalog, make_sample):
    catalog = make_catalog(*([make_sample(f"s{c}-{n}", c) for n in range(5)] for c in range(8)))
    tasks = schedule(catalog.configurations, ProfileSettings(retest_fraction=0.2))
    places: dict[str, list[int]] = {}
    for place, task in enumerate(tasks):
        places.setdefault(task.sample.name, []).append(place)
    assert len(places) == 40
    twice = [found for found in places.values() if len(found) == 2]
    assert len(twice) == 8
    assert all(abs(a - b) >= 20 for a, b in twice)


def test_every_family_is_retested_and_the_draw_repeats(make_catalog, make_sample):
    catalog = make_catalog([make_sample("a")], [make_sample("b")])
    catalog.configurations[1].family = "recurrent"
    assert retested(catalog.configurations, ProfileSettings()) == {"a", "b"}
    assert not retested(catalog.configurations, ProfileSettings(retest_fraction=0))


def test_a_process_serves_one_configuration_or_one_sample(make_catalog, make_sample):
    catalog = make_catalog([make_sample("a"), make_sample("b")], [make_sample("c", 1)])
    tasks = schedule(catalog.configurations, ProfileSettings(retest_fraction=0))
    assert len({process_key(task, "configuration") for task in tasks}) == 2
    assert len({process_key(task, "sample") for task in tasks}) == 3


def test_samples_that_share_weights_are_neighbours(make_sample):
    samples = [make_sample(f"{size}-{batch}", size=size, batch=batch) for batch in (4, 1) for size in (8, 4)]
    assert [sample.name for sample in by_weights(samples)] == ["4-1", "4-4", "8-1", "8-4"]


def test_every_configuration_is_seen_before_any_is_finished(make_catalog, make_sample):
    catalog = make_catalog(
        *(
            [make_sample(f"{c}-{size}-{batch}", c, size=size, batch=batch) for size in (4, 8) for batch in (1, 2)]
            for c in range(6)
        )
    )
    tasks = schedule(catalog.configurations, ProfileSettings(retest_fraction=0))
    assert {task.configuration.id for task in tasks[:12]} == {c.id for c in catalog.configurations}
    assert {task.part for task in tasks[:12]} == {0}
    assert {task.part for task in tasks[12:]} == {1}


def test_samples_of_one_set_of_weights_are_in_one_part(make_sample):
    samples = [make_sample(f"{size}-{batch}", size=size, batch=batch) for batch in (1, 4) for size in (4, 8, 16)]
    first, second, last = parts_of(samples)
    assert [sample.size for sample in first] == [4, 4, 16, 16]
    assert [sample.size for sample in second] == [8, 8]
    assert not last


def test_the_largest_batches_come_last_and_are_measured_once(make_catalog, make_sample):
    catalog = make_catalog(*([make_sample(f"{c}-{batch}", c, batch=batch) for batch in range(1, 9)] for c in range(4)))
    tasks = schedule(catalog.configurations, ProfileSettings(retest_fraction=1))
    assert [task.sample.batch for task in tasks[-4:]] == [8] * 4
    assert len(tasks) == 4 * (7 + 7 + 1)
