"""Interpreter of one line of PyTorch: a small grammar over small tensors, without Python's `eval`.

A line can use the variables that the caller defines, the functions and methods listed here, and the attribute `T`. The
lengths of the text and the sizes of tensors are limited, so any line takes milliseconds and kilobytes. Shapes that do
not match raise PyTorch's `RuntimeError`.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

MAX_CHARACTERS = 120
MAX_NUMBERS = 4096  # per tensor
MAX_CONSTANT = 1_000_000
Value = Any  # a tensor, a number, or a tuple of them
BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = MappingProxyType(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.MatMult: operator.matmul,
    }
)
METHODS = frozenset(
    {
        "transpose",
        "softmax",
        "masked_fill",
        "relu",
        "sqrt",
        "exp",
        "sum",
        "mean",
        "var",
        "argmax",
        "tril",
        "triu",
        "max",
    }
)
KEYWORDS = frozenset({"dim", "keepdim", "unbiased"})
FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "torch.cat": torch.cat,
        "torch.softmax": torch.softmax,
        "torch.relu": torch.relu,
        "torch.exp": torch.exp,
        "torch.sqrt": torch.sqrt,
        "torch.matmul": torch.matmul,
        "torch.argmax": torch.argmax,
        "math.sqrt": math.sqrt,
        "math.exp": math.exp,
    }
)
CONSTANTS: Mapping[str, float] = MappingProxyType({"math.inf": math.inf, "torch.inf": math.inf})


class LineError(Exception):
    """A line outside the grammar.

    `reason` is "syntax", "name", "length" or "size". `text` is the part of the line with the error, or the limit.
    """

    def __init__(self, reason: str, text: str = "") -> None:
        super().__init__(f"{reason}: {text}")
        self.reason = reason
        self.text = text


def run_expression(text: str, variables: Mapping[str, Value]) -> Value:
    """Return the value of an expression.

    Raises:
        LineError: the text is not in the grammar, or a result is too large.
        RuntimeError, IndexError, TypeError, ValueError: PyTorch or Python rejects the operation.
    """
    if len(text) > MAX_CHARACTERS:
        raise LineError("length", str(MAX_CHARACTERS))
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise LineError("syntax", text.strip()) from error
    return _Interpreter(variables).value(tree)


class _Interpreter:
    """Evaluates a syntax tree. The method for a node type has its lower-case name; other types raise a LineError."""

    def __init__(self, variables: Mapping[str, Value]) -> None:
        self.variables = variables

    def value(self, node: ast.AST) -> Value:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise LineError("name", ast.unparse(node))
        return _limit_size(method(node))

    def _constant(self, node: ast.Constant) -> Value:
        if not isinstance(node.value, int | float) or abs(node.value) > MAX_CONSTANT:
            raise LineError("name", ast.unparse(node))
        return node.value

    def _name(self, node: ast.Name) -> Value:
        if node.id not in self.variables:
            raise LineError("name", node.id)
        return self.variables[node.id]

    def _tuple(self, node: ast.Tuple) -> Value:
        return tuple(self.value(item) for item in node.elts)

    def _list(self, node: ast.List) -> Value:
        return [self.value(item) for item in node.elts]

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.USub):
            return -value
        if isinstance(node.op, ast.Invert) and isinstance(value, Tensor):
            return ~value
        raise LineError("name", ast.unparse(node))

    def _binop(self, node: ast.BinOp) -> Value:
        if type(node.op) not in BINARY:
            raise LineError("name", ast.unparse(node))
        left, right = self.value(node.left), self.value(node.right)
        if not all(isinstance(value, Tensor | int | float) for value in (left, right)):
            raise LineError("name", ast.unparse(node))
        return BINARY[type(node.op)](left, right)

    def _attribute(self, node: ast.Attribute) -> Value:
        name = ast.unparse(node)
        if name in CONSTANTS:
            return CONSTANTS[name]
        if node.attr != "T":
            raise LineError("name", name)
        return self._tensor(node.value).mT

    def _subscript(self, node: ast.Subscript) -> Value:
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return self._tensor(node.value)[tuple(self._index(item) for item in items)]

    def _index(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Slice):
            return slice(*(part and self._integer(part) for part in (node.lower, node.upper, node.step)))
        value = self.value(node)
        if isinstance(value, Tensor) and not value.is_floating_point():
            return value
        return self._integer(node)

    def _integer(self, node: ast.expr) -> int:
        value = self.value(node)
        if not isinstance(value, int):
            raise LineError("name", ast.unparse(node))
        return value

    def _tensor(self, node: ast.expr) -> Tensor:
        value = self.value(node)
        if not isinstance(value, Tensor):
            raise LineError("name", ast.unparse(node))
        return value

    def _call(self, node: ast.Call) -> Value:
        arguments = [self.value(argument) for argument in node.args]
        for keyword in node.keywords:
            if keyword.arg not in KEYWORDS:
                raise LineError("name", str(keyword.arg))
        keywords = {str(keyword.arg): self._keyword(keyword.value) for keyword in node.keywords}
        name = ast.unparse(node.func)
        if name in FUNCTIONS:
            return FUNCTIONS[name](*arguments, **keywords)
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in METHODS:
            raise LineError("name", name)
        return getattr(self._tensor(node.func.value), node.func.attr)(*arguments, **keywords)

    def _keyword(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return node.value
        return self.value(node)


def _limit_size(value: Value) -> Value:
    if isinstance(value, Tensor) and value.numel() > MAX_NUMBERS:
        raise LineError("size", str(MAX_NUMBERS))
    return value
