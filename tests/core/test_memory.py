import threading
from math import inf

from mcpist import memory
from mcpist.memory import Memory, cached
from tests.clock import Clock

CLOCK = Clock()


def remembering(seconds: float = 60, max_entries: int = 3) -> Memory[str, str]:
    return Memory(seconds, max_entries, CLOCK)


def test_a_value_is_kept_for_its_seconds_and_not_longer() -> None:
    kept = remembering()
    assert kept.put("a", "old") == "old"
    CLOCK.advance(59.9)
    assert kept.get("a") == "old"
    CLOCK.advance(0.1)
    assert kept.get("a") is None
    assert len(kept) == 0


def test_a_value_can_be_kept_for_less_and_since_an_earlier_moment_but_never_for_longer() -> None:
    kept = remembering()
    kept.put("early", "x", since=CLOCK.now - 50)
    kept.put("short", "x", until=CLOCK.now + 5)
    kept.put("long", "x", until=CLOCK.now + 600)
    CLOCK.advance(5)
    assert [kept.get(key) for key in ("early", "short", "long")] == ["x", None, "x"]
    CLOCK.advance(5)
    assert [kept.get(key) for key in ("early", "short", "long")] == [None, None, "x"]
    CLOCK.advance(50)
    assert kept.get("long") is None


def test_a_clock_that_was_put_back_keeps_nothing_for_longer() -> None:
    kept = remembering()
    kept.put("a", "x")
    CLOCK.advance(-300)
    assert kept.get("a") is None
    kept.put("old", "x")
    CLOCK.advance(50)
    kept.put("new", "x")
    CLOCK.advance(-30)
    assert (kept.get("old"), kept.get("new")) == ("x", None)


def test_a_value_without_a_time_limit_stays() -> None:
    kept = remembering(inf)
    kept.put("a", "x")
    CLOCK.advance(1e9)
    assert kept.get("a") == "x"


def test_the_oldest_entry_makes_room_for_a_new_one() -> None:
    kept = remembering()
    for key in ("a", "b", "c", "a", "d"):
        kept.put(key, key)
    assert list(kept) == ["c", "a", "d"]


def test_an_expired_entry_is_dropped_at_the_next_use_of_another_one() -> None:
    kept = remembering()
    kept.put("a", "secret")
    CLOCK.advance(60)
    kept.put("b", "x")
    assert list(kept) == ["b"]


def test_a_value_is_made_once_and_its_time_counts_from_before_it_was_made() -> None:
    kept, made = remembering(), list[str]()

    def make() -> str:
        made.append("x")
        CLOCK.advance(40)
        return ""

    assert kept.get_or_make("a", make) == ""
    CLOCK.advance(19)
    assert kept.get_or_make("a", make) == ""
    assert len(made) == 1
    CLOCK.advance(1)
    kept.get_or_make("a", make)
    assert len(made) == 2


def test_entries_are_dropped_by_a_condition() -> None:
    kept = remembering()
    for key in ("a1", "a2", "b1"):
        kept.put(key, key)
    kept.drop(lambda key, value: key.startswith("a") and value == key)
    assert list(kept) == ["b1"]


def test_forgetting_all_empties_every_memory_and_forgetting_entries_leaves_what_is_made_of_the_environment() -> None:
    kept, other = remembering(), ["x"]
    memory.on_forget(other.clear)

    @cached
    def setting() -> object:
        return object()

    first = setting()
    kept.put("a", "x")
    memory.forget_entries()
    assert (len(kept), other, setting()) == (0, [], first)
    memory.forget_all()
    assert setting() is not first


def test_threads_share_a_memory() -> None:
    kept = remembering(max_entries=2)

    def use(number: int) -> None:
        for step in range(500):
            kept.put(f"{number}.{step}", "x")
            kept.get(f"{number}.{step - 1}")
            kept.drop(lambda key, _: key.endswith("7"))

    threads = [threading.Thread(target=use, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept) <= 2
