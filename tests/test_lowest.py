"""Which versions `make test-lowest` takes: users' dependencies at their floors, tools of the tests as pinned."""

from packaging.requirements import Requirement

from tests import lowest
from tests.audit import canonical, pins

CONSTRAINTS = {canonical(Requirement(line).name): Requirement(line) for line in lowest.constraints()}


def test_everything_that_users_install_is_held_at_its_floor() -> None:
    """uv alone took MLflow 3.13 for `mlflow>=3.12`: a newer release of another package had it so."""
    users, _ = lowest.declared()
    assert {"torch", "ray", "mlflow", "s3fs", "tensorboard", "transformers"} <= lowest.names(users)
    for requirement in map(Requirement, users):
        if requirement.name != "torch":
            (floor,) = requirement.specifier
            assert floor.operator == ">=", requirement
            held = CONSTRAINTS[canonical(requirement.name)].specifier
            assert held.contains(floor.version)
            assert str(held) == f"=={floor.version}.*"


def test_every_tool_of_the_tests_is_pinned() -> None:
    """The lowest release of a tool without a floor is from its first year."""
    users, tools = lowest.declared()
    for name in lowest.names(tools) - lowest.names(users) - {"folklore-harness"}:
        assert str(CONSTRAINTS[name].specifier) == f"=={pins()[name]}"


def test_torch_is_that_of_the_makefile() -> None:
    assert "torch" not in CONSTRAINTS
