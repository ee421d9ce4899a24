"""The setup of a study: everything it is made of, its engine, and the setup after a change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from allweather.engine.controlled import ControlledEngine
from allweather.engine.engine import Engine
from allweather.engine.factory import EngineFactory, resolve_method
from allweather.methods.composition import Composition
from allweather.methods.control import Control
from allweather.methods.goals import EVERY_TRIAL, SIMULATION
from allweather.serialization import NoPlainForm, Spec, encode_space, spec_of
from allweather.serialization.fields import PARTS
from allweather.serialization.spec import encode_study
from allweather.space import Space
from allweather.storage.storage import study_document
from allweather.trials.history import History


@dataclass(frozen=True, eq=False)
class Setup:
    """The arguments of a study, and the engine that follows from them."""

    factory: EngineFactory
    composition: Composition
    control: Control | None = None

    @classmethod
    def of(
        cls,
        space: Space,
        method: str | Composition | None = None,
        control: Control | None = None,
        begin: Mapping[str, Any] | None = None,
        **parts: Any,
    ) -> Setup:
        """Return the setup that the arguments of a study describe.

        Args:
            space: the variables.
            method: a published method or a composition.
            control: sets of variables that can be controlled.
            begin: the arguments of an `EngineFactory` but for the space.
            parts: those that replace the method's own.
        """
        composition = resolve_method(method).with_parts(**parts)
        return cls(EngineFactory(space, **(begin or {})), composition, control)

    @classmethod
    def of_spec(cls, spec: Spec, device: str = "cpu") -> Setup:
        """Return the setup that a spec describes.

        Args:
            spec: of the study.
            device: where it computes.
        """
        given = spec.arguments()
        begin = {key: given.pop(key) for key in BEGIN if key in given}
        return cls.of(spec.space, begin={**begin, "device": device}, **given)

    @property
    def space(self) -> Space:
        """The variables."""
        return self.factory.space

    @cached_property
    def engine(self) -> Engine | ControlledEngine:
        """From a history to the next decision."""
        return self.factory.engine(self.composition, self.control)

    @cached_property
    def spec(self) -> dict[str, Any] | None:
        """The study as plain data, in the present format; None where parts have no such form."""
        return spec_of(self.factory.arguments(self.composition, self.control))

    @property
    def identity(self) -> dict[str, str]:
        """What is compared of studies whose parts have no plain form."""
        return self.factory.identity(self.engine)

    @property
    def document(self) -> dict[str, Any]:
        """What a journal says that the study was made with."""
        return study_document(self.identity, self.spec, self.space)

    def history(self, first: Space | None = None) -> History:
        """Return the history before any event.

        Args:
            first: the variables then, where they were changed since.
        """
        space = first or self.space
        whole = None if self.control is None else space.joint
        return History(space, self.factory.sign, whole=whole, outcome_names=self.factory.outcome_names)

    def plain(self, key: str) -> Any:
        """Return one field of the spec; None where it is left out, and text where it has no plain form."""
        if self.spec is not None:
            return self.spec.get(key)
        part = {key: getattr(self.composition, key)} if key in (*PARTS, "goal") else {}
        control = self.control if key == "control" else None
        alone = Composition(**part, rule=None if control is None else self.composition.rule)
        try:
            return encode_study(self.factory.arguments(alone, control)).get(key)
        except NoPlainForm:
            return repr(next(iter(part.values()), control))

    def within(self, space: Space) -> Setup:
        """Return the same setup for other bounds or options of its variables."""
        return replace(self, factory=replace(self.factory, space=space))

    def changed(self, fields: Mapping[str, Any], space: Space) -> Setup:
        """Return the setup after a change.

        Args:
            fields: of the spec that are different.
            space: the variables after it.
        """
        given = {key: fields[key] for key in CHANGED if fields.get(key) is not None}
        spec = Spec({**given, "variables": encode_space(space)}, "change")
        arguments = spec.arguments()
        new = {key: arguments.get(key) for key in CHANGED if key in fields}
        parts: dict[str, Any] = {key: new[key] for key in PARTS if key in new}
        if "goal" in fields:
            simulated = self.composition.simulator is not None
            parts["goal"] = fields["goal"] or (SIMULATION if simulated else EVERY_TRIAL)
        begin: dict[str, Any] = {
            key: new[key] or () if key == "constraints" else new[key] for key in BEGIN if key in new
        }
        return replace(
            self,
            factory=replace(self.factory, space=space, **begin),
            composition=replace(self.composition, **parts),
            control=new.get("control", self.control),
        )


BEGIN = ("direction", "constraints", "candidates", "initial", "seed", "outcomes", "cautious")
"""Arguments of a study that are not parts of its method."""
CHANGED = (*PARTS, "constraints", "candidates", "initial", "control")
"""Fields of a spec, but for variables and goal, that a change may set."""
