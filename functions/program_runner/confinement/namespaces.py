"""Namespaces of a process, where the kernel lets an unprivileged one have them."""

import os
from pathlib import Path

from program_runner.confinement import kernel


def enter(*, network: bool, mounts: bool) -> tuple[str, ...]:
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
    try:
        kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
        kernel.mount(root, root, "", kernel.MS_BIND)
        kernel.change_mounts("/", kernel.AT_RECURSIVE, set_=kernel.MOUNT_ATTR_RDONLY)
        kernel.change_mounts(root, 0, clear=kernel.MOUNT_ATTR_RDONLY)
        done.append("read-only")
    except OSError:
        pass
    try:
        kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
        done.append("proc")
    except OSError:
        pass
    return tuple(done)
