import logging
import threading

import pytest

from treewass.serve.locks import serving, sharing


def test_one_service_at_a_time(folder):
    with serving(folder), pytest.raises(ValueError, match="Another service runs"), serving(folder):
        pass
    with serving(folder):
        pass


def test_a_service_that_waits_for_workers_of_another_says_so(folder, caplog):
    waiting, served = threading.Event(), threading.Event()

    class Notice(logging.Handler):
        def emit(self, record):
            waiting.set()

    def serve():
        with serving(folder):
            served.set()

    logger, notice = logging.getLogger("treewass.serve"), Notice()
    service = threading.Thread(target=serve)
    with caplog.at_level("INFO", logger="treewass.serve"), sharing(folder):
        logger.addHandler(notice)
        try:
            service.start()
            assert waiting.wait(30)
            assert not served.is_set()
        finally:
            logger.removeHandler(notice)
    service.join()
    assert served.is_set()
    assert caplog.messages == ["waiting for the workers of a service that was killed"]
