"""The gallery on Spark itself: each program gives what it gives in process, as it stands, in several buckets."""

from __future__ import annotations

import pytest

from examples.gallery import GALLERY
from examples.gallery.running import run_here, run_on_spark, standing


@pytest.mark.parametrize("name", GALLERY)
def test_a_program_of_the_gallery_gives_the_same_on_spark(spark, name):
    exhibit = GALLERY[name]
    found = standing(run_on_spark(spark, exhibit))
    assert found == standing(run_here(exhibit))
    assert found
