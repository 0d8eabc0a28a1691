"""Calls of the Linux kernel that Python does not offer, which raise OSError elsewhere too, and namespaces by them."""

import ctypes
import errno
import os
import sys
from contextlib import suppress
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 0x2, 0x4, 0x8, 0x1000, 0x4000, 0x40000
AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = -100, 0x8000, 0x1
SYS_MOUNT_SETATTR = 442  # the same on all architectures

_LAST_CAPABILITY = 63


class _MountAttributes(ctypes.Structure):
    """`struct mount_attr`."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def prctl(option: int, *arguments: int) -> None:
    """Change something of this process."""
    _check(_libc().prctl(option, *(ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4])))


def forbid_inspection() -> None:
    """Close /proc to other processes of our user: files of a process that is not dumpable belong to root.

    So they can read neither our memory nor our environment, and cannot trace us; processes that we fork have it, too.
    """
    if sys.platform == "linux":
        prctl(PR_SET_DUMPABLE, 0)


def drop_capabilities() -> None:
    """Let no program that this process executes have any capability, even as root."""
    for capability in range(_LAST_CAPABILITY + 1):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError as error:
            if error.errno != errno.EINVAL:  # a number that this kernel does not know
                raise


def mount(source: str, target: str, kind: str, flags: int) -> None:
    """Mount a file system."""
    _check(_libc().mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), None))


def change_mounts(target: str, flags: int, *, set_: int = 0, clear: int = 0) -> None:
    """Set or clear attributes of a mount, with AT_RECURSIVE of all mounts below it too."""
    attributes = _MountAttributes(set=set_, clear=clear)
    path, size = target.encode(), ctypes.c_size_t(ctypes.sizeof(attributes))
    _check(_libc().syscall(ctypes.c_long(SYS_MOUNT_SETATTR), AT_FDCWD, path, flags, ctypes.byref(attributes), size))


def _libc() -> ctypes.CDLL:
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def enter_namespaces(*, network: bool, mounts: bool) -> tuple[str, ...]:
    """Put this process, and the next one that it forks, into namespaces of its own; return the names of those it got.

    Lambda's kernel refuses them, and so do some containers: then there are none.
    """
    if not hasattr(os, "unshare"):
        return ()
    wanted = {"user": os.CLONE_NEWUSER, "pid": os.CLONE_NEWPID, "ipc": os.CLONE_NEWIPC}
    if not network:
        wanted["network"] = os.CLONE_NEWNET
    if mounts:
        wanted["mounts"] = os.CLONE_NEWNS
    user, group = os.geteuid(), os.getegid()
    flags = 0
    for flag in wanted.values():
        flags |= flag
    try:
        os.unshare(flags)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    except OSError:
        return ()
    return tuple(wanted)


def confine_writing(root: str) -> tuple[str, ...]:
    """Make everything but a folder read-only, and show no other processes; return what was possible."""
    done = []
    with suppress(OSError):
        mount("none", "/", "", MS_REC | MS_PRIVATE)
        mount(root, root, "", MS_BIND)
        change_mounts("/", AT_RECURSIVE, set_=MOUNT_ATTR_RDONLY)
        change_mounts(root, 0, clear=MOUNT_ATTR_RDONLY)
        done.append("read-only")
    with suppress(OSError):
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
        done.append("proc")
    return tuple(done)
