import logging
import re
import signal

import pytest

from treewass.documents import make_documents


@pytest.fixture(scope="package")
def documents():
    return make_documents(120, n_words=60, words_per_document=8, n_classes=3, random_state=0)


@pytest.fixture
def interrupts():
    """Hear interrupts from the keyboard, which a shell turns off for what runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Listener(logging.Handler):
    """Notes the epochs that are logged, and presses Ctrl-C after one of them."""

    def __init__(self):
        super().__init__(logging.INFO)
        self.epochs, self.last = [], None

    def emit(self, record):
        self.epochs.append(int(re.search(r"epoch (\d+):", record.getMessage())[1]))
        if self.epochs[-1] == self.last:
            signal.raise_signal(signal.SIGINT)


@pytest.fixture
def epochs(interrupts):
    listener, logger = Listener(), logging.getLogger("treewass")
    before = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(listener)
    yield listener
    logger.removeHandler(listener)
    logger.setLevel(before)
