import os
import subprocess
import sys

import numpy as np
import pytest

from treewass.learners.stw.contrastive_kernels import exponentials, tangent


def test_polynomials_are_exact_to_float32():
    x = np.linspace(-80, 0, 5001, dtype=np.float32)
    out = np.empty_like(x)
    exponentials(x, np.float32(0), out)
    assert np.allclose(out, np.exp(x.astype(float)), rtol=3e-7, atol=0)
    x = np.linspace(-12, 12, 5001, dtype=np.float32)
    assert np.allclose([tangent(value) for value in x], np.tanh(x.astype(float)), rtol=5e-7, atol=0)


@pytest.mark.slow
def test_compiled_loops_from_disk_give_the_same_bits(tmp_path):
    """A training that goes on in another process must not notice who compiled the loops."""
    program = (
        "from treewass import SupervisedTreeWasserstein\n"
        "from treewass.documents import make_documents\n"
        "X, y = make_documents(100, n_words=60, words_per_document=8, n_classes=3, random_state=0)\n"
        "for optimizer in ('adam', 'lars'):\n"
        "    learner = SupervisedTreeWasserstein(depth=3, epochs=2, optimizer=optimizer).fit(X, y)\n"
        "    print(learner.scores_.tobytes().hex()[:2000], learner.history_[-1].loss)\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    found = [
        subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True).stdout
        for _ in range(2)
    ]
    assert found[0] == found[1]
