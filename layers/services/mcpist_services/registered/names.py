"""Names that no organization can register."""

from mcpist.memory import cached
from mcpist_services import names, providers

RESERVED_NAMES = frozenset({"categories", "files", "mcpist", "modules", "programs"})


@cached
def deployed_names() -> frozenset[str]:
    """Return the names of the modules of this deployment."""
    from mcpist_services.programs.loading import declared_programs
    from mcpist_services.upstream.configuration import configuration

    return frozenset([*names(), *declared_programs(), *configuration().all_categories])


def is_taken(name: str) -> bool:
    """Whether a name is the deployment's: of a module, a meta-tool, or a provider by which accounts are found."""
    from mcpist_services.upstream.configuration import configuration
    from mcpist_services.upstream.trust import is_reserved_name

    grants = {grant for server in configuration().servers.values() for grant in server.grants}
    taken = {*RESERVED_NAMES, *deployed_names(), *providers(), *grants}
    return name in taken or is_reserved_name(name)
