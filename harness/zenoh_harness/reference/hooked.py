"""Derive nodes that differ from the reference node in single hooks or attributes, without a class statement.

A function that replaces a hook has the parameters that it needs, by name: `node`, `base`, and parameters of the hook.
`base()` calls the replaced hook with the same arguments, `base(link=other)` with one of them changed, `base(link, message)`
with these arguments. A function with `*rest` or `**options` gets the node, `base` and all arguments in their order.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from inspect import BoundArguments, Parameter, Signature, isfunction, signature
from typing import Any, TypeVar

from .application import Application
from .node import Reference

T = TypeVar("T")
Base = Callable[..., T]
"""The replaced hook, bound to the node."""

_VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def derive_node(name: str, changes: Mapping[str, Any], of: type[Any] = Reference, module: str = "") -> type[Reference]:
    """
    Make a subclass of `of`: functions of `changes` in place of hooks, other values in place of class attributes.

    `name`: words and hyphens; `module`: where the node is defined, if its functions are from elsewhere. If `of` is an application, the
    node is the reference below it. Raises TypeError for an unknown hook or attribute, or parameters that are not the hook's.
    """
    functions = {hook: change for hook, change in changes.items() if isfunction(change)}
    module = module or next((function.__module__ for function in functions.values()), of.__module__)
    class_name = "".join(word.capitalize() for word in name.split("-"))
    attributes = {key: value for key, value in changes.items() if key not in functions}
    if unknown := sorted(key for key in attributes if not hasattr(of, key)):
        raise TypeError(f"{name}: {of.__name__} has no attribute {', '.join(unknown)}")
    node: type[Any] = type(class_name, (of,), {"__module__": module, **attributes})
    for hook, function in functions.items():
        check_parameters(of, hook, function)
        method = _method if _is_open(function) else _method_by_name
        setattr(node, hook, method(node, hook, function))
    if issubclass(node, Application):
        return type(class_name, (Reference,), {"__module__": module, "application_class": node})
    return node


def check_parameters(of: type[Any], hook: str, function: Callable[..., Any]) -> None:
    """Raise TypeError unless each parameter of `function` is `node`, `base` or a parameter of the hook."""
    if not isfunction(getattr(of, hook, None)):
        raise TypeError(f"{function.__module__}: {of.__name__} has no hook {hook!r}")
    there = ["node", "base", *list(signature(getattr(of, hook)).parameters)[1:]]
    named = [parameter.name for parameter in signature(function).parameters.values() if parameter.kind not in _VARIADIC]
    if set(named) - set(there) or (_is_open(function) and named != there[: len(named)]):
        raise TypeError(
            f"{function.__module__}.{function.__qualname__} has the parameters {signature(function)};"
            f" those of the hook {of.__name__}.{hook} are ({', '.join(there)})"
        )


def _is_open(function: Callable[..., Any]) -> bool:
    """Return whether a function has a parameter for any number of arguments."""
    return any(parameter.kind in _VARIADIC for parameter in signature(function).parameters.values())


def name_of(decorated: Callable[..., Any]) -> str:
    """Return the node's name: the words of the function's or class's name, with hyphens."""
    return "-".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]|\d+", decorated.__name__)).lower()


def _method_by_name(owner: type[Any], hook: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of `owner` that calls `function` with the arguments that the function has as parameters."""
    of_hook, taken = signature(getattr(owner, hook)), list(signature(function).parameters)

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        call = of_hook.bind(self, *arguments, **options)
        call.apply_defaults()

        def base(*others: Any, **changed: Any) -> Any:
            replaced = getattr(super(owner, self), hook)
            if others:
                return replaced(*others, **changed)
            if unknown := changed.keys() - call.arguments.keys():
                raise TypeError(f"{owner.__name__}: {hook} has no parameter {', '.join(sorted(unknown))}")
            again = BoundArguments(of_hook, OrderedDict(call.arguments | changed))
            return replaced(*again.args[1:], **again.kwargs)

        given = call.arguments | {"node": self, "base": base}
        return function(**{name: given[name] for name in taken})

    return method


def _method(owner: type[Any], hook: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of `owner` that calls `function` with the node, the replaced hook and all arguments."""

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        return function(self, getattr(super(owner, self), hook), *arguments, **options)

    return method


def before(effect: Callable[..., Any]) -> Callable[..., Any]:
    """Return a hook that calls `effect`, which takes its parameters by name, and then the replaced hook."""
    return _beside(effect, first=True)


def after(effect: Callable[..., Any]) -> Callable[..., Any]:
    """Return a hook that calls the replaced hook, whose result it returns, and then `effect`."""
    return _beside(effect, first=False)


def _beside(effect: Callable[..., Any], *, first: bool) -> Callable[..., Any]:
    named = signature(effect).parameters

    def hook(base: Base[Any], **given: Any) -> Any:
        result = None if first else base()
        effect(**{name: (given | {"base": base})[name] for name in named})
        return base() if first else result

    parameters = [each for each in named.values() if each.name != "base"]
    hook.__signature__ = Signature([*parameters, Parameter("base", Parameter.KEYWORD_ONLY)])  # type: ignore[attr-defined]
    return hook


def do_nothing(node: Reference, base: Base[None], *arguments: Any, **options: Any) -> None:
    """Do nothing, in place of a hook that returns None."""
