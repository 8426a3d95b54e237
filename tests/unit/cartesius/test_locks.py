"""Locks of files and folders: one has them at a time, and none outlives its block in a process that was forked off."""

from __future__ import annotations

import os
from contextlib import suppress

import pytest

from cartesius import locks
from cartesius.locks import alone_in, alone_with

fcntl = pytest.importorskip("fcntl", reason="Windows has no such locks")


@pytest.fixture(params=["a file", "a folder"])
def opened(request, tmp_path):
    """Open the same anew with each call, as another process would."""
    path = tmp_path
    if request.param == "a file":
        path = tmp_path / "lock"
        path.touch()
    descriptors = []

    def again():
        descriptors.append(os.open(path, os.O_RDONLY))
        return descriptors[-1]

    yield again
    for descriptor in descriptors:
        os.close(descriptor)


def test_one_has_it_at_a_time_and_no_copy_of_a_descriptor_keeps_it(opened):
    mine = opened()
    with alone_with(mine) as is_alone:
        assert is_alone
        copy = os.dup(mine)  # as a process has that is forked off here
        with alone_with(opened(), waits=False) as is_other_alone:
            assert not is_other_alone
        with alone_with(opened(), waits=False) as is_other_alone:
            assert not is_other_alone  # who did not have it has not unlocked it
    with alone_with(opened(), waits=False) as is_other_alone:
        assert is_other_alone
    os.close(copy)


def test_who_comes_to_a_folder_that_another_has_waits(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(locks, "flock", lambda _, how: asked.append(how))
    with alone_in(tmp_path):
        pass
    assert asked == [fcntl.LOCK_EX, fcntl.LOCK_UN]


def test_a_folder_is_had_alone_until_the_block_ends_also_by_an_error(tmp_path):
    with suppress(KeyError), alone_in(tmp_path):
        descriptor = os.open(tmp_path, os.O_RDONLY)
        with alone_with(descriptor, waits=False) as is_alone:
            assert not is_alone
        raise KeyError
    with alone_with(descriptor, waits=False) as is_alone:
        assert is_alone
    os.close(descriptor)
