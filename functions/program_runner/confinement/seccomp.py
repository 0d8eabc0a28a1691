"""A filter of system calls: what foreign code may not ask of the kernel fails with EPERM.

It keeps a program from other processes of our user, from new namespaces and mounts, and, without `network`, from every
socket: so from the Lambda runtime's own API and from metadata addresses too.

Reference: https://www.kernel.org/doc/html/latest/userspace-api/seccomp_filter.html
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Collection, Mapping
from typing import NamedTuple

from program_runner.confinement import kernel

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # BPF: ld abs, jeq, jge, ret
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data, little endian
_X32 = 0x40000000
_MINUS_ONE = 0xFFFFFFFF
# These have the same number everywhere.
_COMMON_CALLS = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "open_tree": 428, "move_mount": 429, "fsopen": 430,
    "pidfd_getfd": 438, "mount_setattr": 442,
}  # fmt: skip
# A program that may use the network is a server, and some bring a browser that shuts itself into namespaces.
_OF_SERVERS = ("socket", "unshare", "setns", "mount", "umount2", "pivot_root", "open_tree", "move_mount", "fsopen")
_SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")


class Architecture(NamedTuple):
    """An architecture's number for the filter, and its numbers of system calls."""

    audit: int
    calls: Mapping[str, int]


ARCHITECTURES = {
    "x86_64": Architecture(
        0xC000003E,
        {
            "socket": 41, "kill": 62, "ptrace": 101, "pivot_root": 155, "mount": 165, "umount2": 166, "tkill": 200,
            "tgkill": 234, "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272, "perf_event_open": 298,
            "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311, "bpf": 321, "userfaultfd": 323,
            "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297,
        },
    ),
    "aarch64": Architecture(
        0xC00000B7,
        {
            "socket": 198, "kill": 129, "ptrace": 117, "pivot_root": 41, "mount": 40, "umount2": 39, "tkill": 130,
            "tgkill": 131, "add_key": 217, "request_key": 218, "keyctl": 219, "unshare": 97, "perf_event_open": 241,
            "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "bpf": 280, "userfaultfd": 282,
            "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240,
        },
    ),
}  # fmt: skip


def install(*, network: bool, protected: Collection[int]) -> None:
    """Filter the calls of this process from now on, and of all that it starts.

    The processes `protected` get no signal from it. Raises OSError where the kernel knows no such filter.
    """
    architecture = ARCHITECTURES.get(platform.machine())
    if architecture is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    code = program(architecture, network=network, protected=protected)
    buffer = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    made = Program(len(code) // 8, ctypes.addressof(buffer))
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(made))


def program(architecture: Architecture, *, network: bool, protected: Collection[int]) -> bytes:
    """Return the filter as code of the kernel's packet filter."""
    calls = {**architecture.calls, **_COMMON_CALLS}
    signals = [calls.pop(name) for name in _SIGNALS]
    for name in _OF_SERVERS if network else ():
        del calls[name]
    code = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_EQUAL, architecture.audit, 1, 0),
        _instruction(_RETURN, _REFUSE),
        _instruction(_LOAD, _NUMBER),
    ]
    code += [_instruction(_AT_LEAST, _X32, 0, 1), _instruction(_RETURN, _REFUSE)]
    for number in sorted(calls.values()):
        code += [_instruction(_EQUAL, number, 0, 1), _instruction(_RETURN, _REFUSE)]
    for number in signals:
        code += _signal_rule(number, protected)
    return b"".join([*code, _instruction(_RETURN, _ALLOW)])


def _signal_rule(number: int, protected: Collection[int]) -> list[bytes]:
    """Refuse a signal to everybody, to a protected process and to its group."""
    targets = sorted({_MINUS_ONE, *protected, *(-pid & _MINUS_ONE for pid in protected)})
    rule = [_instruction(_LOAD, _FIRST_ARGUMENT)]
    for target in targets:
        rule += [_instruction(_EQUAL, target, 0, 1), _instruction(_RETURN, _REFUSE)]
    rule.append(_instruction(_RETURN, _ALLOW))
    return [_instruction(_EQUAL, number, 0, len(rule)), *rule]


def _instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)
