"""A process that is forked while a thread writes."""

import subprocess
import sys

FORKING = """
import os, signal, sys, threading, time
import numpy as np
from treewass import TreeIndex, TreeMetric
from treewass.trees import star_tree
folder, rounds = sys.argv[1], int(sys.argv[2])
index = TreeIndex(TreeMetric(star_tree(50)))
counts = np.random.default_rng(0).integers(0, 3, (40, 50)) + 1
index.add(counts)
index.search(counts[:1], 2)
index.save(folder)
done = threading.Event()
def write():
    while not done.is_set():
        index.remove(index.add(counts))
        index.save(folder)
def read():
    while not done.is_set():
        TreeIndex.load(folder).search(counts[:1], 2)
threads = [threading.Thread(target=work, daemon=True) for work in (write, write, read)]
for thread in threads:
    thread.start()
hung = failed = 0
for number in range(rounds):
    time.sleep(0.001 * (number % 7))
    child = os.fork()
    if not child:
        status = 1
        try:
            index.add(counts)
            index.save(folder)
            status = TreeIndex.load(folder).search(counts[:1], 2)[1].shape != (1, 2)
        finally:
            os._exit(status)
    end = time.monotonic() + 60
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < end:
        time.sleep(0.001)
    if not ended[0]:
        hung += 1
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    failed += ended[1] != 0
done.set()
for thread in threads:
    thread.join()
sys.stdout.write(f"{hung} hung, {failed} failed of {rounds}")
"""


def test_a_child_forked_while_threads_write_does_not_hang(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", FORKING, str(tmp_path / "index"), "40"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "0 hung, 0 failed of 40"), done.stderr
