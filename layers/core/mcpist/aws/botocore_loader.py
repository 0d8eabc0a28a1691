"""A loader of botocore's service models that takes a third of the CPU of botocore's own.

botocore's looks into the folders of 400 services to learn that one of them exists, once for each kind of model, and
parses JSON into OrderedDict, although a plain dict keeps its order, too.
"""

import gzip
import json
import os
from collections.abc import Iterable
from typing import Any

from botocore.loaders import JSONFileLoader, Loader


class JsonFileLoader(JSONFileLoader):  # type: ignore[misc]
    """Load JSON files, compressed or not."""

    def load_file(self, file_path: str) -> Any:
        """Return the content of the file with this path, which has no suffix; None if there is none."""
        for suffix, open_file in ((".json", open), (".json.gz", gzip.open)):
            try:
                with open_file(file_path + suffix, "rb") as file:
                    return json.load(file)
            except FileNotFoundError:
                continue
        return None


class ServiceModelLoader(Loader):  # type: ignore[misc]
    """A loader that takes every folder for a service; reading it shows whether it has a model of some kind."""

    FILE_LOADER_CLASS = JsonFileLoader

    def preload(self, services: Iterable[str]) -> None:
        """Read everything that the clients of these services are made from, so that no request waits for it."""
        for name in ("endpoints", "partitions", "sdk-default-configuration"):
            self.load_data(name)
        for service in services:
            for kind in ("service-2", "endpoint-rule-set-1"):
                self.load_service_model(service, kind, api_version=None)  # cached under the same arguments

    def list_available_services(self, type_name: str) -> list[str]:  # noqa: ARG002 - see above
        """Return the services' names."""
        folders = [path for path in self.search_paths if os.path.isdir(path)]
        return sorted({entry.name for folder in folders for entry in os.scandir(folder) if entry.is_dir()})
