"""The system calls that foreign code may use, with their numbers: what a kernel offers next is not on this list.

Each entry is a name, its number on x86_64 and its number on aarch64. Sources: `asm/unistd_64.h` and
`asm-generic/unistd.h` of Linux, https://github.com/torvalds/linux/tree/master/include/uapi/asm-generic
"""

# Files, which the file system's own rights and Landlock guard.
FILE_CALLS = """
read 0 63, write 1 64, open 2 -, openat 257 56, openat2 437 437, close 3 57, creat 85 -, lseek 8 62, pread64 17 67,
pwrite64 18 68, readv 19 65, writev 20 66, preadv 295 69, pwritev 296 70, preadv2 327 286, pwritev2 328 287, stat 4
-, fstat 5 80, lstat 6 -, newfstatat 262 79, statx 332 291, statfs 137 43, fstatfs 138 44, access 21 -, faccessat
269 48, faccessat2 439 439, getdents 78 -, getdents64 217 61, getcwd 79 17, chdir 80 49, fchdir 81 50, rename 82 -,
renameat 264 38, renameat2 316 276, mkdir 83 -, mkdirat 258 34, rmdir 84 -, link 86 -, linkat 265 37, unlink 87 -,
unlinkat 263 35, symlink 88 -, symlinkat 266 36, readlink 89 -, readlinkat 267 78, mknod 133 -, mknodat 259 33,
chmod 90 -, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, chown 92 -, fchown 93 55, lchown 94 -, fchownat 260
54, umask 95 166, utime 132 -, utimes 235 -, utimensat 280 88, futimesat 261 -, truncate 76 45, ftruncate 77 46,
fallocate 285 47, fadvise64 221 223, readahead 187 213, fsync 74 82, fdatasync 75 83, sync_file_range 277 84,
sendfile 40 71, splice 275 76, tee 276 77, vmsplice 278 75, copy_file_range 326 285, flock 73 32, dup 32 23, dup2 33
-, dup3 292 24, pipe 22 -, pipe2 293 59, close_range 436 436, getxattr 191 8, lgetxattr 192 9, fgetxattr 193 10,
listxattr 194 11, llistxattr 195 12, flistxattr 196 13, setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7,
removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16, inotify_init 253 -, inotify_init1 294 26,
inotify_add_watch 254 27, inotify_rm_watch 255 28
"""

# Waiting for files, times and signals.
WAITING_CALLS = """
poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72, epoll_create 213 -, epoll_create1 291 20, epoll_ctl 233 21,
epoll_wait 232 -, epoll_pwait 281 22, epoll_pwait2 441 441, eventfd 284 -, eventfd2 290 19, signalfd 282 -,
signalfd4 289 74, timerfd_create 283 85, timerfd_settime 286 86, timerfd_gettime 287 87, timer_create 222 107,
timer_settime 223 110, timer_gettime 224 108, timer_getoverrun 225 109, timer_delete 226 111, getitimer 36 102,
setitimer 38 103, alarm 37 -, pause 34 -, nanosleep 35 101, clock_nanosleep 230 115, clock_gettime 228 113,
clock_getres 229 114, gettimeofday 96 169, time 201 -, times 100 153
"""

# The own memory.
MEMORY_CALLS = """
brk 12 214, mmap 9 222, munmap 11 215, mremap 25 216, mprotect 10 226, msync 26 227, madvise 28 233, mincore 27 232,
mlock 149 228, mlock2 325 284, munlock 150 229, mlockall 151 230, munlockall 152 231, pkey_alloc 330 289, pkey_free
331 290, pkey_mprotect 329 288
"""

# The own processes, and questions about them.
PROCESS_CALLS = """
fork 57 -, vfork 58 -, execve 59 221, execveat 322 281, exit 60 93, exit_group 231 94, wait4 61 260, waitid 247 95,
set_tid_address 218 96, set_robust_list 273 99, futex 202 98, futex_waitv 449 449, rseq 334 293, membarrier 324 283,
arch_prctl 158 -, prctl 157 167, seccomp 317 277, restart_syscall 219 128, getpid 39 172, getppid 110 173, gettid
186 178, getpgid 121 155, getpgrp 111 -, setpgid 109 154, getsid 124 156, setsid 112 157, getuid 102 174, geteuid
107 175, getgid 104 176, getegid 108 177, getresuid 118 148, getresgid 120 150, getgroups 115 158, capget 125 90,
capset 126 91, getrlimit 97 163, setrlimit 160 164, getrusage 98 165, getpriority 140 141, sched_yield 24 124,
sched_getaffinity 204 123, sched_getattr 315 275, sched_getparam 143 121, sched_getscheduler 145 120,
sched_get_priority_max 146 125, sched_get_priority_min 147 126, sched_rr_get_interval 148 127, rt_sigaction 13 134,
rt_sigprocmask 14 135, rt_sigpending 127 136, rt_sigsuspend 130 133, rt_sigtimedwait 128 137, rt_sigreturn 15 139,
sigaltstack 131 132, getcpu 309 168, getrandom 318 278, uname 63 160, sysinfo 99 179
"""

# What pipes made of a pair of sockets need; none of these makes a socket.
PAIR_CALLS = """
sendto 44 206, recvfrom 45 207, sendmsg 46 211, recvmsg 47 212, sendmmsg 307 269, recvmmsg 299 243, shutdown 48 210,
getsockname 51 204, getpeername 52 205, getsockopt 55 209, setsockopt 54 208
"""

# Calls whose arguments are checked: `seccomp.RULES`.
CHECKED_CALLS = """
fcntl 72 25, ioctl 16 29, clone 56 220, socketpair 53 199, kill 62 129, tkill 200 130, tgkill 234 131,
rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, prlimit64 302 261, sched_setaffinity 203 122, sched_setattr 314
274, sched_setparam 142 118, sched_setscheduler 144 119
"""

# For servers: the network, and what a browser needs that confines itself in namespaces.
SERVER_CALLS = """
socket 41 198, connect 42 203, bind 49 200, listen 50 201, accept 43 202, accept4 288 242, memfd_create 319 279,
unshare 272 97, setns 308 268, mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, open_tree 428 428,
move_mount 429 429, fsopen 430 430, fsconfig 431 431, fsmount 432 432, setuid 105 146, setgid 106 144, setreuid 113
145, setregid 114 143, setresuid 117 147, setresgid 119 149, setgroups 116 159, setfsuid 122 151, setfsgid 123 152,
personality 135 92, setpriority 141 140, ioprio_get 252 31, ioprio_set 251 30, shmget 29 194, shmat 30 196, shmctl
31 195, shmdt 67 197, semget 64 190, semop 65 193, semtimedop 220 192, semctl 66 191, sync 162 81, syncfs 306 267,
io_setup 206 0, io_submit 209 2, io_getevents 208 4, io_destroy 207 1, mbind 237 235, get_mempolicy 239 236,
set_mempolicy 238 237
"""

COMMON_CALLS = (FILE_CALLS, WAITING_CALLS, MEMORY_CALLS, PROCESS_CALLS, PAIR_CALLS)
