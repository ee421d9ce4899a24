"""Tensors that pretend to be on another device than the CPU, so that no GPU is needed to find those that are not.

Their numbers are held by ordinary tensors; device `meta` is only a name. An operation on tensors of both devices
raises, as it does between CPU and GPU, and so does drawing random numbers of a CPU generator there, or a NumPy array.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

DEVICE = torch.device("meta")


class Mixed(RuntimeError):
    """Tensors of two devices met, or one was made on a fixed device."""


class Elsewhere(Tensor):
    """A tensor whose device is `DEVICE`."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> Elsewhere:
        """Wrap a tensor of the CPU."""
        made: Elsewhere = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, held.size(), strides=held.stride(), dtype=held.dtype, device=DEVICE, requires_grad=held.requires_grad
        )
        made.held = held
        return made

    def __repr__(self) -> str:  # type: ignore[override]
        return f"Elsewhere({self.held!r})"

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Multiply a vector by a matrix without the change of shape in place, which a wrapper does not notice."""
        if getattr(function, "__name__", "") in ("matmul", "__matmul__") and args[0].ndim == 1 and args[1].ndim == 2:
            function, args = torch.mv, (args[1].mT, args[0])
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **(kwargs or {}))

    def tolist(self) -> Any:
        """The numbers, which may be asked of a tensor on any device."""
        return self.held.tolist()

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation on what is held."""
        return _run(function, args, kwargs or {})


class PretendDevice(TorchDispatchMode):
    """While it is active, `device="meta"` makes tensors that can be computed with."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # importing the compiler takes seconds

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run any operation."""
        return _run(function, args, kwargs or {})


def _run(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    given = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
    elsewhere = any(isinstance(each, Elsewhere) for each in given)
    asked = kwargs.get("device")
    if asked is not None:
        elsewhere = torch.device(asked) == DEVICE
        kwargs = {**kwargs, "device": torch.device("cpu")}
    # `copy_` moves numbers between devices; an index may be on the CPU, but the CPU takes none from elsewhere.
    name = str(function)
    free = "copy" in name or (name.startswith(("aten.index.", "aten.index_put")) and isinstance(args[0], Elsewhere))
    strangers = [each for each in given if not isinstance(each, Elsewhere) and each.ndim and each.numel()]
    if asked is None and elsewhere and strangers and not free:
        raise Mixed(f"{function} of tensors on two devices: {[tuple(each.shape) for each in strangers]} on the CPU")
    if elsewhere and kwargs.get("generator") is not None:
        raise Mixed(f"{function} with a generator of the CPU")
    found = function(*tree_map(_held, args), **tree_map(_held, kwargs))
    if name.split(".")[1].endswith("_") and given:  # in place
        return args[0]
    return tree_map(lambda each: Elsewhere(each) if isinstance(each, Tensor) else each, found) if elsewhere else found


def _held(each: Any) -> Any:
    return each.held if isinstance(each, Elsewhere) else each


def there(tensor: Tensor) -> Tensor:
    """The same numbers on the pretended device, differentiable where they were."""
    return Elsewhere(tensor.detach().clone()).requires_grad_(tensor.requires_grad)
