"""The files that the embedded AWS runs and commands read: those of a checkout, else the copy in the wheel."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
IS_CHECKOUT = (_PACKAGE.parent / "template.yaml").is_file()
ROOT = _PACKAGE.parent if IS_CHECKOUT else _PACKAGE / "packaged"
"""The folder that has `template.yaml`, `functions`, `layers/config` and `docs`."""
TEMPLATE = ROOT / "template.yaml"
CONFIGURATION = ROOT / "layers/config"
