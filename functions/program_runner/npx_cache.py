"""The package cache of a server that npx starts: its own, and used again only once the server has answered from it.

An installation that breaks off would make the server fail for ever. So each start installs into a new folder, until an
answer shows that one is whole: a link names that one for all later starts, of other sandboxes as well.
"""

import hashlib
import json
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from mcpist.programs.messages import ServerDeclaration

CACHE_VARIABLE = "npm_config_cache"
MAX_INSTALL_SECONDS = 3_600
"""After so long a folder that no link names is left from an installation that broke off."""
_DOWNLOADS = "_cacache"


def uses_npx(server: ServerDeclaration) -> bool:
    """Whether npx starts a server, with a cache that it does not name itself."""
    return Path(server.command).name == "npx" and CACHE_VARIABLE not in map(str.lower, server.environment)


class NpxCache:
    """The cache of one server below a folder; servers share only the downloads there, which npm checks by hash."""

    def __init__(self, folder: Path, server: ServerDeclaration) -> None:
        self._all = folder
        self._name = hashlib.sha256(json.dumps([server.command, *server.arguments]).encode()).hexdigest()[:32]
        self._folder: Path | None = None

    def prepare(self) -> dict[str, str]:
        """Return the variable that names the cache: the whole one, or else a new one."""
        self._all.mkdir(mode=0o700, parents=True, exist_ok=True)
        whole = self._all / self._name
        if whole.is_dir():
            self._folder = whole.resolve()
        else:
            for folder in self._all.glob(f"{self._name}-*"):
                if time.time() - folder.lstat().st_mtime > MAX_INSTALL_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)
            self._folder = Path(tempfile.mkdtemp(prefix=f"{self._name}-", dir=self._all))
            (self._all / _DOWNLOADS).mkdir(exist_ok=True)
            (self._folder / _DOWNLOADS).symlink_to(f"../{_DOWNLOADS}")
        return {CACHE_VARIABLE: str(self._folder)}

    def keep(self) -> None:
        """Use the cache from now on: the server has answered from it."""
        link = self._all / self._name
        if self._folder is None or link.is_dir():
            return
        with suppress(FileNotFoundError):  # of a link that leads nowhere since somebody removed its folder
            link.unlink()
        with suppress(FileExistsError):  # another sandbox was faster
            os.symlink(self._folder.name, link)
