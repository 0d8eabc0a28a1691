"""A filter of system calls: all that foreign code may ask of the kernel; what is on no list fails.

It keeps a program from other processes of our user, from new namespaces and mounts, and, without `network`, from every
socket: so from the Lambda runtime's own API and from metadata addresses too.

Reference: https://www.kernel.org/doc/html/latest/userspace-api/seccomp_filter.html
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Collection, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from program_runner.confinement import kernel, system_calls

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2

_LOAD, _EQUAL, _AT_LEAST, _HAS_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # BPF: ld abs, jeq, jge, jset, ret
_ALLOW, _REFUSE, _UNKNOWN = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data, little endian
_X32 = 0x40000000
# Programs try calls from here on before older ones, and go on where these do not exist: clone3 is such a call.
_FIRST_TRIED = 424
_NEGATIVE = 0x80000000
_WORD = 1 << 32


class ArgumentRule(NamedTuple):
    """The values and bits that an argument of a call may not have."""

    argument: int
    values: tuple[int, ...] = ()
    bits: int = 0
    """None of these may be set."""


# F_SETOWN and its like let the kernel send any signal to any process of our user; TIOCSTI types into a terminal.
RULES = {
    "fcntl": ArgumentRule(1, (8, 10, 15)),
    "ioctl": ArgumentRule(1, (0x8901, 0x8902, 0x5412, 0x541C)),
    "clone": ArgumentRule(0, bits=0x7E020080),  # CLONE_NEW*
    "socketpair": ArgumentRule(1, bits=0x2),  # SOCK_DGRAM and SOCK_RAW, which can send to others than their pair
}
_RULES_OF_SERVERS = {"fcntl", "ioctl"}


class Architecture(NamedTuple):
    """An architecture's number for the filter, and its place in the table of system calls."""

    audit: int
    column: int

    def calls(self, *families: str) -> dict[str, int]:
        """Return the numbers of these system calls, by their names."""
        entries = (entry.split() for family in families for entry in family.split(","))
        return {entry[0]: int(entry[self.column]) for entry in entries if entry[self.column] != "-"}


ARCHITECTURES = {"x86_64": Architecture(0xC000003E, 1), "aarch64": Architecture(0xC00000B7, 2)}


def install(*, network: bool, protected: Collection[int]) -> None:
    """Filter the calls of this process from now on, and of all that it starts.

    It and they may signal and limit none but each other, so no process that is older than this one, and none of those
    `protected`, whose numbers may be higher. Raises OSError where the kernel knows no such filter.
    """
    architecture = ARCHITECTURES.get(platform.machine())
    if architecture is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    code = program(architecture, network=network, protected=protected, first=os.getpid())
    buffer = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    made = Program(len(code) // 8, ctypes.addressof(buffer))
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(made))


def program(architecture: Architecture, *, network: bool, protected: Collection[int], first: int) -> bytes:
    """Return the filter as code of the kernel's packet filter."""
    allowed = architecture.calls(*system_calls.COMMON_CALLS, *([system_calls.SERVER_CALLS] if network else []))
    checked = architecture.calls(system_calls.CHECKED_CALLS)
    code = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_EQUAL, architecture.audit, 1, 0),
        _instruction(_RETURN, _REFUSE),
        _instruction(_LOAD, _NUMBER),
    ]
    code += [_instruction(_AT_LEAST, _X32, 0, 1), _instruction(_RETURN, _REFUSE)]
    for name, number in checked.items():
        if name in RULES and network and name not in _RULES_OF_SERVERS:
            allowed[name] = number
            continue
        rule = _argument_rule(RULES[name]) if name in RULES else _target_rule(protected, first)
        code += [_instruction(_EQUAL, number, 0, len(rule)), *rule]
    return b"".join([*code, *_allow(allowed)])


def _allow(calls: Mapping[str, int]) -> Iterator[bytes]:
    """Allow these calls and refuse all others, range by range."""
    for is_tried, numbers in groupby(sorted(calls.values()), lambda number: number >= _FIRST_TRIED):
        refusal = _instruction(_RETURN, _UNKNOWN if is_tried else _REFUSE)
        for low, high in _ranges(numbers):
            yield _instruction(_AT_LEAST, high + 1, 3, 0)
            yield from (_instruction(_AT_LEAST, low, 0, 1), _instruction(_RETURN, _ALLOW), refusal)
        yield from [] if is_tried else [_instruction(_AT_LEAST, _FIRST_TRIED, 1, 0), refusal]
    yield _instruction(_RETURN, _UNKNOWN)


def _ranges(numbers: Iterator[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of numbers that follow each other."""
    for _, run in groupby(enumerate(numbers), lambda place: place[1] - place[0]):
        found = [number for _, number in run]
        yield found[0], found[-1]


def _argument_rule(rule: ArgumentRule) -> list[bytes]:
    code = [_instruction(_LOAD, _ARGUMENTS + 8 * rule.argument)]
    for value in rule.values:
        code += [_instruction(_EQUAL, value, 0, 1), _instruction(_RETURN, _REFUSE)]
    code += [_instruction(_HAS_BIT, rule.bits, 0, 1), _instruction(_RETURN, _REFUSE)]
    return [*code, _instruction(_RETURN, _ALLOW)]


def _target_rule(protected: Collection[int], first: int) -> list[bytes]:
    """Allow a call for 0, for processes from `first` on and for their groups, unless they are `protected`.

    Numbers of processes grow until they begin again, so only then is a protected one higher.
    """
    code = [_instruction(_LOAD, _ARGUMENTS)]
    for target in sorted({number % _WORD for pid in protected if pid >= first for number in (pid, -pid)}):
        code += [_instruction(_EQUAL, target, 0, 1), _instruction(_RETURN, _REFUSE)]
    refuse, allow = _instruction(_RETURN, _REFUSE), _instruction(_RETURN, _ALLOW)
    return [
        *code,
        _instruction(_EQUAL, 0, 4, 0),
        _instruction(_AT_LEAST, _NEGATIVE, 1, 0),
        _instruction(_AT_LEAST, first, 2, 1),
        _instruction(_AT_LEAST, _WORD - first + 1, 0, 1),
        refuse,
        allow,
    ]


def _instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)
