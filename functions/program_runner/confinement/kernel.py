"""Calls of the Linux kernel that Python does not offer, which raise OSError elsewhere too, and namespaces by them."""

import ctypes
import errno
import os
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

MNT_DETACH = 0x2
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
    attributes = bytes(_MountAttributes(set=set_, clear=clear))
    syscall(SYS_MOUNT_SETATTR, AT_FDCWD, target.encode(), flags, attributes, len(attributes))


def syscall(number: int, *arguments: int | bytes | None) -> int:
    """Make a system call for which the C library has no function."""
    values = (ctypes.c_long(one) if isinstance(one, int) else one for one in arguments)
    result: int = _libc().syscall(ctypes.c_long(number), *values)
    _check(min(result, 0))
    return result


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


def confine_files(root: str, visible: Collection[str]) -> tuple[str, ...]:
    """Give this process a file system that is empty but for paths to read and a folder to change.

    Return what was possible: where the kernel permits no mounts, as in some containers, all stays as it is.
    """
    new, done = f"{root}/root", ["files"]
    try:
        mount("none", "/", "", MS_REC | MS_PRIVATE)
        os.mkdir(new)
        mount("none", new, "tmpfs", MS_NOSUID | MS_NODEV)
        for path in (root, *visible):
            _show(path, new)
        with suppress(OSError):
            os.mkdir(f"{new}/proc")
            mount("proc", f"{new}/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
            done.append("proc")
        change_mounts(new, AT_RECURSIVE, set_=MOUNT_ATTR_RDONLY)
        change_mounts(new + root, 0, clear=MOUNT_ATTR_RDONLY)
        os.chdir(new)
        _check(_libc().pivot_root(b".", b"."))
        _check(_libc().umount2(b".", MNT_DETACH))
        os.chdir("/")
    except OSError:
        return ()
    return tuple(done)


def _show(path: str, new: str) -> None:
    """Bind a path to the same place below another root; links of the root itself, such as /lib, stay links."""
    if not os.path.exists(path):
        return
    os.makedirs(os.path.dirname(new + path), exist_ok=True)
    if os.path.dirname(path) == "/" and os.path.islink(path):
        os.symlink(os.readlink(path), new + path)
        return
    if os.path.isdir(path):
        os.makedirs(new + path, exist_ok=True)
    else:
        Path(new + path).touch()
    # A namespace may not take a part of a tree in which something is mounted: so all of it, but for the new root.
    mount(path, new + path, "", MS_BIND | (0 if new.startswith(f"{path}/") else MS_REC))
