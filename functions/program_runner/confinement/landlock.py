"""Landlock: which files a process may use from now on, in kernels that give it no mounts of its own.

Reference: https://docs.kernel.org/userspace-api/landlock.html
"""

import os
import stat
import struct
from collections.abc import Collection

from program_runner.confinement import kernel

SYS_CREATE_RULESET, SYS_ADD_RULE, SYS_RESTRICT_SELF = 444, 445, 446  # the same on all architectures
CREATE_RULESET_VERSION, RULE_PATH_BENEATH = 1, 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _IOCTL_DEV = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
# The number of rights that each version knows; the first has 13.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_LATEST_RIGHTS = 16
_SCOPES, _FIRST_WITH_SCOPES = 0b11, 6  # no abstract sockets and no signals to processes outside


def confine(root: str, visible: Collection[str]) -> None:
    """Let this process, and all that it starts, change one folder and read these paths, and use no other file.

    It must not be able to gain privileges any more. Raises OSError where the kernel has no Landlock.
    """
    version = kernel.syscall(SYS_CREATE_RULESET, None, 0, CREATE_RULESET_VERSION)
    rights = (1 << _RIGHTS.get(version, _LATEST_RIGHTS)) - 1
    scopes = _SCOPES if version >= _FIRST_WITH_SCOPES else 0
    attributes = struct.pack("=3Q", rights, 0, scopes)
    ruleset = kernel.syscall(SYS_CREATE_RULESET, attributes, len(attributes), 0)
    _allow(ruleset, root, rights)
    for path in (*visible, "/proc/self", "/proc/cpuinfo", "/proc/meminfo"):
        if os.path.exists(path):
            _allow(ruleset, path, rights & (_READ | _WRITE_FILE | _TRUNCATE if path.startswith("/dev/") else _READ))
    kernel.syscall(SYS_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _OF_FILES
        kernel.syscall(SYS_ADD_RULE, ruleset, RULE_PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)
