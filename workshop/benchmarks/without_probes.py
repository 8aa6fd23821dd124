"""A generated copy of `model.core.transformer` without probes, to measure the cost of probes.

In the source of every class, `self.weights = Probe(…)` is removed, `self.weights(x)` becomes `x`, and
`self.weights.watched` becomes False. The result is compiled as separate modules, so that no second model has to be
maintained.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from types import ModuleType

PROBED_MODULES = (
    "headlight.model.core.positions",
    "headlight.model.core.attention",
    "headlight.model.core.blocks",
    "headlight.model.core.transformer",
)  # in import order
PREFIX = "without_probes"


def without_probes() -> ModuleType:
    """Return a copy of the module `model.core.transformer` whose `Transformer` accepts the same weights.

    Raises:
        RuntimeError: a probe is used in an unknown way, or there are no calls of probes.
    """
    removed = 0
    for name in PROBED_MODULES:
        source = inspect.getsource(importlib.import_module(name))
        remover = _ProbeRemover()
        tree = ast.fix_missing_locations(remover.visit(ast.parse(source)))
        removed += remover.removed
        remaining = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & {"Probe", "Watchable", "watch"}
        remaining |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} & {"watched"}
        if remaining:
            raise RuntimeError(f"{name} uses {', '.join(sorted(remaining))} in a form that cannot be removed.")
        twin = ModuleType(f"{PREFIX}.{name}")
        sys.modules[twin.__name__] = twin
        exec(compile(tree, f"<{twin.__name__}>", "exec"), twin.__dict__)  # noqa: S102 - our own source
    if not removed:
        raise RuntimeError("No call of a probe was found, so the copy would equal the original.")
    return sys.modules[f"{PREFIX}.{PROBED_MODULES[-1]}"]


class _ProbeRemover(ast.NodeTransformer):
    """Removes the probes of a module."""

    def __init__(self) -> None:
        self.probes: set[str] = set()  # attributes of the current class
        self.removed = 0  # number of removed calls

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom | None:
        """Import the generated modules instead of the originals."""
        if node.module == "headlight.model.core.probes":
            return None
        if node.module in PROBED_MODULES:
            node.module = f"{PREFIX}.{node.module}"
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Collect the probes of the class, and replace the base class `Watchable`."""
        node.bases = [ast.parse("nn.Module", mode="eval").body if _is_watchable(base) else base for base in node.bases]
        self.probes = {
            part.targets[0].attr
            for part in ast.walk(node)
            if isinstance(part, ast.Assign)
            and _is_probe_call(part.value)
            and isinstance(part.targets[0], ast.Attribute)
        }
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """Remove `self.weights = Probe(…)`, and assignments of a name to itself."""
        if _is_probe_call(node.value):
            return None
        self.generic_visit(node)
        return None if _list_names(node.targets[0]) == _list_names(node.value) != [] else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace `self.weights(x)` by `x`."""
        if self._is_probe(node.func):
            self.removed += 1
            return self.visit(node.args[0])  # type: ignore[no-any-return]
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Replace `self.weights.watched` by `False`."""
        if node.attr == "watched" and self._is_probe(node.value):
            return ast.copy_location(ast.Constant(value=False), node)
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Simplify `a or False` to `a`."""
        self.generic_visit(node)
        if isinstance(node.op, ast.Or):
            node.values = [value for value in node.values if not _is_false(value)] or node.values[:1]
            return node.values[0] if len(node.values) == 1 else node
        return node

    def _is_probe(self, node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
            and node.attr in self.probes
        )


def _is_probe_call(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Probe"


def _is_watchable(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "Watchable"


def _is_false(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _list_names(node: ast.AST) -> list[str]:
    """Return the names in `a` or `a, b`; an empty list for other expressions."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    return names if len(names) == len(parts) else []
