"""Sync handlers and sync tools run here, off the event loop."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

# asyncio's own pool has a handful of threads on a small machine: it would cap an action's concurrency.
# Threads are started when they are needed, so a large bound costs nothing.
MOST: Final = 256
_POOL: Final = ThreadPoolExecutor(max_workers=MOST, thread_name_prefix="parkway-sync")
_running: set[object] = set()
_left: set[object] = set()
_WAY_OUT: Final = "give what they wait for a timeout of its own (an HTTP client's, a socket's), or write them as async"


def running() -> int:
    """Calls that run now, those that nobody waits for any more included."""
    return len(_running)


def left_running() -> str | None:
    """Say that calls go on which nobody waits for any more; None while there are none. From any thread."""
    if not _left:
        return None
    return f"{len(_left)} of {MOST} threads are in sync calls that were cancelled and go on; {_WAY_OUT}"


def why_starved() -> str | None:
    """Say that such calls have all threads, so that no other sync call starts; None else. From any thread."""
    if len(_left) < MOST:
        return None
    return f"all {MOST} threads are in sync calls that were cancelled and never end; {_WAY_OUT}"


async def run_in_thread(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call `function` in a thread with this task's context variables, and give what it returned or raised.

    A coroutine that it returned is awaited here. No thread can be stopped: when this is cancelled, it ends
    by itself.
    """
    context = contextvars.copy_context()
    here = object()

    def call() -> tuple[Any, BaseException | None]:
        _running.add(here)
        try:
            return context.run(function, *args, **kwargs), None
        except StopIteration as error:
            # As it is, it would leave the awaiter of its future hanging (CPython before 3.12).
            wrapped = RuntimeError(f"{function.__name__} raised StopIteration")
            wrapped.__cause__ = error
            return None, wrapped
        except BaseException as error:
            return None, error
        finally:
            _running.discard(here)
            _left.discard(here)

    try:
        result, error = await asyncio.get_running_loop().run_in_executor(_POOL, call)
    except asyncio.CancelledError:
        _left.add(here)
        if here not in _running:  # it had not begun, or has ended just now
            _left.discard(here)
        raise
    if error is not None:
        raise error
    if hasattr(result, "__await__"):
        return await result
    return result
