"""Sub-expressions that read nothing of the event are worked out once, when the trigger loads."""

from parkway.router.cel.errors import CelError
from parkway.router.cel.evaluate import evaluate
from parkway.router.cel.nodes import Constant, Event, Has, Node, children


class Folder:
    """For the nodes of one tree: it remembers which of them read the event."""

    def __init__(self) -> None:
        self._reading: dict[int, bool] = {}

    def folded(self, node: Node) -> Node:
        """A constant in place of a node that reads nothing; the node itself if it does, or is an error."""
        if isinstance(node, Constant) or self._reads_event(node):
            return node
        try:
            return Constant(node.position, evaluate(node, {}))
        except CelError:
            return node

    def _reads_event(self, node: Node) -> bool:
        known = self._reading.get(id(node))
        if known is None:
            known = isinstance(node, Event | Has) or any(map(self._reads_event, children(node)))
            self._reading[id(node)] = known
        return known
