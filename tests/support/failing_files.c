// SPDX-License-Identifier: GPL-3.0-or-later
// A file system that stumbles, for tests: loaded before a program (LD_PRELOAD), it lets one in
// FAILING_ONE_IN calls that open, read, write or synchronise files below FAILING_FOLDER end with
// EIO or ENOSPC. Everything else is as it was.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static unsigned long drawn = 0;

static int unlucky(void) {
    const char* const one_in = getenv("FAILING_ONE_IN");
    if (one_in == NULL) {
        return 0;
    }
    if (drawn == 0) {
        const char* const seed = getenv("FAILING_SEED");
        drawn = (seed != NULL ? strtoul(seed, NULL, 10) : 1) * 2654435761UL + (unsigned)getpid();
    }
    drawn = drawn * 6364136223846793005UL + 1442695040888963407UL;
    return (drawn >> 33) % strtoul(one_in, NULL, 10) == 0;
}

static int is_below(const char* path) {
    const char* const folder = getenv("FAILING_FOLDER");
    return folder != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_of(int fd) {
    char link[64];
    char path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) {
        return 0;
    }
    path[length] = '\0';
    return is_below(path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int fails(int hit, int code) {
    if (hit && unlucky()) {
        errno = code;
        return 1;
    }
    return 0;
}

int open64(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return fails(is_below(path), EIO) ? -1 : REAL(open64)(path, flags, mode);
}

ssize_t pread64(int fd, void* to, size_t length, off64_t at) {
    return fails(is_of(fd), EIO) ? -1 : REAL(pread64)(fd, to, length, at);
}

ssize_t pwrite64(int fd, const void* from, size_t length, off64_t at) {
    return fails(is_of(fd), ENOSPC) ? -1 : REAL(pwrite64)(fd, from, length, at);
}

ssize_t read(int fd, void* to, size_t length) {
    return fails(is_of(fd), EIO) ? -1 : REAL(read)(fd, to, length);
}

ssize_t write(int fd, const void* from, size_t length) {
    return fails(is_of(fd), ENOSPC) ? -1 : REAL(write)(fd, from, length);
}

int fsync(int fd) { return fails(is_of(fd), EIO) ? -1 : REAL(fsync)(fd); }

int fdatasync(int fd) { return fails(is_of(fd), EIO) ? -1 : REAL(fdatasync)(fd); }
