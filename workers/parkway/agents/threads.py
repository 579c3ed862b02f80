"""Sync handlers and sync tools run here, off the event loop."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

# asyncio's own pool has a handful of threads on a small machine: it would cap an action's concurrency.
# Threads are started when they are needed, so a large bound costs nothing.
_POOL: Final = ThreadPoolExecutor(max_workers=256, thread_name_prefix="parkway-sync")
_running: set[object] = set()


def running() -> int:
    """Calls that run now, those that nobody waits for any more included."""
    return len(_running)


async def run_in_thread(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call `function` in a thread with this task's context variables, and give what it returned or raised.

    A coroutine that it returned is awaited here. No thread can be stopped: when this is cancelled, it ends
    by itself.
    """
    context = contextvars.copy_context()

    def call() -> tuple[Any, BaseException | None]:
        here = object()
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

    result, error = await asyncio.get_running_loop().run_in_executor(_POOL, call)
    if error is not None:
        raise error
    if hasattr(result, "__await__"):
        return await result
    return result
