"""The imported APIs of a deployment on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from mcpist_services.described.overlay_files import compile_overlays, load_folder


@contextmanager
def compiled_apis(folder: Path) -> Iterator[tuple[tuple[str, ...], Path]]:
    """Compile the imported APIs, which may be on this machine; yield their names and the folder."""
    overlays = load_folder(folder)
    with TemporaryDirectory(prefix="mcpist-apis-") as compiled:
        compile_overlays(overlays, Path(compiled), loopback=True)
        yield tuple(overlay.name for overlay in overlays), Path(compiled)
