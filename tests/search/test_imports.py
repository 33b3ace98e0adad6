import subprocess
import sys

CODE = """
import sys
from treewass import TreeIndex, TreeMetric
from treewass.trees import perfect_tree
index = TreeIndex(TreeMetric(perfect_tree(2, 2).with_words([3, 4, 5])))
before = set(sys.modules)
index.add([[1, 0, 2], [0, 1, 0]])
index.search([[1, 1, 1]], 2)
index.within([[1, 1, 1]], 2.0)
index.distances([[1, 1, 1]])
index.metric.pairwise([[1, 1, 1]])
sys.stdout.write(f"{'numba' in before} {any(name.split('.')[0] == 'sklearn' for name in sys.modules)}")
"""


def test_an_index_needs_no_scikit_learn_and_numba_only_to_search():
    found = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout
    assert found == "False False"
