// A library that is preloaded into a process. It counts writes and syncs to the files of its databases, and makes them fail on
// demand. It shares its counters with the test through a mapped file of 32-bit integers (disk-shim.ts).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SYNCS, UNSYNCED, FAIL_SYNC, FAIL_WRITE, FAIL_OPEN, FAIL_MAIN_SYNC, WRITES, FIELDS };

static volatile int *shared;

__attribute__((constructor)) static void map_counters(void) {
  const char *path = getenv("DISK_SHIM_COUNTERS");
  int (*real_open)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
  int fd = path ? real_open(path, O_RDWR) : -1;
  void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, FIELDS * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped != MAP_FAILED) shared = mapped;
}

static int is_database(const char *path) { return shared && strstr(path, ".db") != NULL; }

/** 0: another file, 1: a database, 2: its write-ahead log. */
static int kind_of(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  if (!is_database(path)) return 0;
  return strstr(path, ".db-wal") ? 2 : 1;
}

static int fails(int field) {
  if (!shared || !shared[field]) return 0;
  errno = shared[field];
  return 1;
}

#define SYNC(name)                                            \
  int name(int fd) {                                          \
    static int (*real)(int);                                  \
    if (!real) real = dlsym(RTLD_NEXT, #name);                \
    int kind = kind_of(fd);                                   \
    if (kind && fails(FAIL_SYNC)) return -1;                  \
    if (kind == 1 && fails(FAIL_MAIN_SYNC)) return -1;        \
    int result = real(fd);                                    \
    if (kind) __sync_fetch_and_add(&shared[SYNCS], 1);        \
    if (kind == 2) shared[UNSYNCED] = 0;                      \
    return result;                                            \
  }
SYNC(fsync)
SYNC(fdatasync)

#define WRITE(name, parameters, arguments)                    \
  ssize_t name parameters {                                   \
    static ssize_t(*real) parameters;                         \
    if (!real) real = dlsym(RTLD_NEXT, #name);                \
    int kind = kind_of(fd);                                   \
    if (kind && fails(FAIL_WRITE)) return -1;                 \
    if (kind) __sync_fetch_and_add(&shared[WRITES], 1);       \
    if (kind == 2) __sync_fetch_and_add(&shared[UNSYNCED], 1); \
    return real arguments;                                    \
  }
WRITE(write, (int fd, const void *bytes, size_t count), (fd, bytes, count))
WRITE(pwrite, (int fd, const void *bytes, size_t count, off_t at), (fd, bytes, count, at))
WRITE(pwrite64, (int fd, const void *bytes, size_t count, off64_t at), (fd, bytes, count, at))

#define OPEN(name)                                            \
  int name(const char *path, int flags, ...) {                \
    static int (*real)(const char *, int, ...);               \
    if (!real) real = dlsym(RTLD_NEXT, #name);                \
    va_list rest;                                             \
    va_start(rest, flags);                                    \
    int mode = va_arg(rest, int);                             \
    va_end(rest);                                             \
    int writes = (flags & O_ACCMODE) != O_RDONLY;             \
    if (writes && is_database(path) && fails(FAIL_OPEN)) return -1; \
    return real(path, flags, mode);                           \
  }
OPEN(open)
OPEN(open64)
