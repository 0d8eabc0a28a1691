"""botocore's descriptions of AWS's services, read with a third of the CPU that its own loader takes.

That one looks into the folders of 400 services to learn that one of them exists, once for each kind of description, and
makes ordered dictionaries of JSON, as Python's own have long been.
"""

import gzip
import json
import os
from collections.abc import Iterable
from typing import Any

from botocore.loaders import JSONFileLoader, Loader


class JsonFileLoader(JSONFileLoader):  # type: ignore[misc]
    """A file of JSON by its path without an ending, also where it is compressed; None where there is none."""

    def load_file(self, file_path: str) -> Any:
        """What the file holds."""
        for ending, opened in ((".json", open), (".json.gz", gzip.open)):
            try:
                with opened(file_path + ending, "rb") as file:
                    return json.load(file)
            except FileNotFoundError:
                continue
        return None


class ServiceModelLoader(Loader):  # type: ignore[misc]
    """A loader to which every folder is a service: whether it has a description of some kind, reading it shows."""

    FILE_LOADER_CLASS = JsonFileLoader

    def preload(self, services: Iterable[str]) -> None:
        """Read all that the clients of these services are made from, so that nobody waits for it later."""
        for name in ("endpoints", "partitions", "sdk-default-configuration"):
            self.load_data(name)
        for service in services:
            for kind in ("service-2", "endpoint-rule-set-1"):
                self.load_service_model(service, kind, api_version=None)  # kept under the words that a client asks in

    def list_available_services(self, type_name: str) -> list[str]:  # noqa: ARG002 - see above
        """The services' names."""
        folders = [path for path in self.search_paths if os.path.isdir(path)]
        return sorted({one.name for folder in folders for one in os.scandir(folder) if one.is_dir()})
