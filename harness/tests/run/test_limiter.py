"""Places for those who are busy: who has heard the target has his before who only begins."""

from threading import Event, Lock, Thread

from awaiting import awaited

from zenoh_harness.run.attempt.limiter import Limiter


def waiting(task):
    thread = Thread(target=task, daemon=True)
    thread.start()
    return thread


def test_who_has_heard_the_target_goes_before_who_only_begins():
    # A handshake that had its InitAck waited half a second behind beginners, and a node that gives one half a second gave it up.
    floor, order, heard, back = Limiter(1), [], Event(), Event()

    def talks():
        with floor.taken():
            with floor.left():
                back.set()
                heard.wait()
            order.append("answers")

    def begins():
        with floor.taken():
            order.append("begins")

    talking = waiting(talks)
    back.wait()
    with floor.taken():
        beginning = [waiting(begins) for _ in range(3)]
        awaited(lambda: len(floor.waiting) == 3)
        heard.set()
        awaited(lambda: len(floor.waiting) == 4)
    for thread in (talking, *beginning):
        thread.join(timeout=10)
    assert order == ["answers", "begins", "begins", "begins"]


def test_no_more_are_busy_than_there_are_places():
    floor, most, now, lock = Limiter(2), [0], [0], Lock()

    def works():
        for _ in range(50):
            with floor.taken():
                with lock:
                    now[0] += 1
                    most[0] = max(most[0], now[0])
                with lock:
                    now[0] -= 1
                with floor.left():
                    pass

    threads = [waiting(works) for _ in range(8)]
    for thread in threads:
        thread.join(timeout=10)
    assert not any(thread.is_alive() for thread in threads)
    assert 1 <= most[0] <= 2
    assert (floor.free, floor.waiting) == (2, [])


def test_a_case_that_fails_leaves_its_place():
    floor = Limiter(1)
    for _ in range(2):
        try:
            with floor.taken(), floor.left():
                raise TimeoutError
        except TimeoutError:
            pass
    assert floor.free == 1


def test_a_place_that_is_handed_over_stays_one_place():
    floor = Limiter(1)

    def works():
        with floor.taken():
            pass

    with floor.taken():
        threads = [waiting(works) for _ in range(3)]
        awaited(lambda: len(floor.waiting) == 3)
        assert floor.free == 0
    for thread in threads:
        thread.join(timeout=10)
    assert (floor.free, floor.waiting) == (1, [])
