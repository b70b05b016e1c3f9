import json

import pytest

from jaxbits import recorded, runtime


def test_the_report_names_versions_devices_and_what_was_tested(capsys):
    runtime.report()
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith("jaxbits ")
    assert "jax " in first
    assert second.startswith("devices: ")
    assert "checked on jax" in third


def test_what_was_tested_is_recorded_with_all_that_is_said_of_it():
    for environment in runtime.tested():
        assert {"python", "jax", "flax", "backend"} <= set(environment)


def test_the_addresses_follow_from_the_package():
    owner, name = runtime.repository().split("/")[-2:]
    assert runtime.site() == f"https://{owner}.github.io/{name}"


@pytest.mark.parametrize("name", ["import_time", "jit_speed", "retraces", "unrolled_loop"])
def test_a_recorded_run_names_its_machine_and_versions(name):
    run = recorded.load(name)
    line = recorded.machine(run)
    assert run["machine"]["cpu"] in line
    assert run["versions"]["jax"] in line
    assert run["date"] in line
    json.dumps(run)


def test_an_unknown_run_is_answered_with_those_there_are():
    with pytest.raises(
        FileNotFoundError, match="there are array_updates, async_dispatch, audit_cost"
    ):
        recorded.load("nothing")
