"""Generates `model.transformer` without probes.

The source is read, and in every class `self.weights = Probe(…)` goes, `self.weights(x)` becomes `x` and
`self.weights.watched` becomes False. The rest is compiled as separate modules, so that the cost of probes can
be measured without keeping a second model up to date by hand.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from types import ModuleType

PROBED = (
    "headlight.model.core.positions",
    "headlight.model.core.attention",
    "headlight.model.core.blocks",
    "headlight.model.core.transformer",
)  # in the order of their imports
PREFIX = "without_probes"


def without_probes() -> ModuleType:
    """A module like `model.transformer`: its `Transformer` takes the same weights."""
    removed = 0
    for name in PROBED:
        source = inspect.getsource(importlib.import_module(name))
        surgeon = _ProbeRemover()
        tree = ast.fix_missing_locations(surgeon.visit(ast.parse(source)))
        removed += surgeon.removed
        left = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & {"Probe", "Watchable", "watch"}
        left |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} & {"watched"}
        if left:
            raise RuntimeError(f"{name} uses {', '.join(sorted(left))} in a form that the twin cannot leave out.")
        twin = ModuleType(f"{PREFIX}.{name}")
        sys.modules[twin.__name__] = twin
        exec(compile(tree, f"<{twin.__name__}>", "exec"), twin.__dict__)  # noqa: S102 - our own source
    if not removed:
        raise RuntimeError("No call of a probe was found: the twin would be the same code.")
    return sys.modules[f"{PREFIX}.{PROBED[-1]}"]


class _ProbeRemover(ast.NodeTransformer):
    """Takes the probes out of a module."""

    def __init__(self) -> None:
        self.probes: set[str] = set()  # of the class at hand
        self.removed = 0  # calls

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom | None:
        """Import twins from twins."""
        if node.module == "headlight.model.core.probes":
            return None
        if node.module in PROBED:
            node.module = f"{PREFIX}.{node.module}"
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Each class has its own probes and needs no lookup."""
        node.bases = [ast.parse("nn.Module", mode="eval").body if _is_watchable(base) else base for base in node.bases]
        self.probes = {
            part.targets[0].attr
            for part in ast.walk(node)
            if isinstance(part, ast.Assign) and _makes_probe(part.value) and isinstance(part.targets[0], ast.Attribute)
        }
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """`self.weights = Probe(…)` goes, and so does what would assign a name to itself."""
        if _makes_probe(node.value):
            return None
        self.generic_visit(node)
        return None if _names(node.targets[0]) == _names(node.value) != [] else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`self.weights(x)` → `x`."""
        if self._is_probe(node.func):
            self.removed += 1
            return self.visit(node.args[0])  # type: ignore[no-any-return]
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """`self.weights.watched` → `False`."""
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


def _makes_probe(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Probe"


def _is_watchable(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "Watchable"


def _is_false(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _names(node: ast.AST) -> list[str]:
    """`a` or `a, b` as a list of names; empty for anything else."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    return names if len(names) == len(parts) else []
