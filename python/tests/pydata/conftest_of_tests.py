"""What the tests of pydata/sparse take as given: laid beside them by `run.py`."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def rng():
    from sparse.numba_backend._utils import default_rng

    return default_rng


@pytest.fixture(scope="session")
def backend():
    import sparse

    return sparse._BACKEND


@pytest.fixture(scope="module")
def graph():
    edges = {(0, 1), (0, 2), (1, 2), (1, 4), (3, 4), (4, 1), (4, 3)}
    return np.array([[int((i, j) in edges) for j in range(5)] for i in range(5)])
