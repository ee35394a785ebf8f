/*
 * A layer under a process (LD_PRELOAD) that writes down, before it happens, everything that the process does to the files below one directory: bytes
 * before and after, lengths, names, and which syncs have ended. From that record test/durability/power-cut.ts works out what a power cut would have
 * left of them.
 *
 * Environment: POWER_CUT_DIR, the directory; POWER_CUT_LOG, a directory on the same file system, not below it: it takes the record and a second name
 * of each file that is removed or replaced. POWER_CUT_LIE: syncs of files whose path ends with it or contains it between slashes do nothing, as on a
 * disk that lies; "*": all of them.
 *
 * A sync takes a few milliseconds here, as on a real disk, and does nothing else: nothing is really at risk. What it covers is what was done before it
 * began, and only once it has ended. Not seen: writes through mmap (SQLite's -shm, which is no durable state), io_uring (off in Node unless asked for).
 * Calls that write in ways not known here are recorded as such, and the judge of the record refuses it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FDS_MAX 65536
#define SYNC_NS 3000000

struct record {
  uint8_t kind; /* C create, W write, T cut, U unlink, R rename, M mkdir, D rmdir, S sync begins, E sync has ended, X not known */
  uint8_t is_dir;
  uint16_t zero;
  uint32_t first_length, second_length;
  uint64_t number, inode, offset, old_length;
} __attribute__((packed));

struct file {
  char *path; /* NULL: not below the directory */
  uint64_t inode;
  int is_dir, appends;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct file files[FDS_MAX];
static int log_fd = -1;
static uint64_t numbers = 0;

static const char *env(const char *name) {
  const char *value = getenv(name);
  return value == NULL ? "" : value;
}

static int below(const char *path) {
  const char *dir = env("POWER_CUT_DIR");
  size_t length = strlen(dir);
  return length > 0 && strncmp(path, dir, length) == 0 && (path[length] == '/' || path[length] == 0);
}

/* The absolute path, in a buffer of the caller; as given when there is no telling. */
static const char *absolute(int dirfd, const char *path, char *buffer) {
  if (path == NULL || path[0] == '/' || dirfd != AT_FDCWD) return path == NULL ? "" : path;
  if (getcwd(buffer, PATH_MAX) == NULL) return path;
  size_t length = strlen(buffer);
  snprintf(buffer + length, PATH_MAX - length, "/%s", path);
  return buffer;
}

static uint64_t note(uint8_t kind, const struct file *file, uint64_t offset, uint64_t old_length, const void *first, size_t first_length,
                     const void *second, size_t second_length) {
  if (log_fd < 0) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/record", env("POWER_CUT_LOG"));
    log_fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_fd < 0) abort();
  }
  struct record record = {.kind = kind,
                          .is_dir = file != NULL && file->is_dir,
                          .first_length = (uint32_t)first_length,
                          .second_length = (uint32_t)second_length,
                          .number = ++numbers,
                          .inode = file == NULL ? 0 : file->inode,
                          .offset = offset,
                          .old_length = old_length};
  struct iovec parts[3] = {{&record, sizeof record}, {(void *)first, first_length}, {(void *)second, second_length}};
  if (syscall(SYS_writev, log_fd, parts, 3) < 0) abort();
  return record.number;
}

static struct file *known(int fd) {
  return fd >= 0 && fd < FDS_MAX && files[fd].path != NULL ? &files[fd] : NULL;
}

/* Under the lock: the file behind a descriptor. One that was closed out of our sight (closedir) may be another's by now. */
static struct file *checked(int fd) {
  struct file *file = known(fd);
  struct stat stat;
  if (file == NULL || (fstat(fd, &stat) == 0 && stat.st_ino == file->inode)) return file;
  free(file->path);
  file->path = NULL;
  return NULL;
}

/* A second name keeps what is removed or replaced. */
static void keep(const char *path) {
  char kept[PATH_MAX];
  snprintf(kept, sizeof kept, "%s/kept-%llu", env("POWER_CUT_LOG"), (unsigned long long)numbers + 1);
  syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, kept, 0);
}

static uint64_t length_of(int fd) {
  struct stat stat;
  return fstat(fd, &stat) == 0 ? (uint64_t)stat.st_size : 0;
}

/* What stands in a range of the file now; the caller frees it. */
static char *bytes_of(int fd, uint64_t offset, uint64_t length) {
  char *bytes = malloc(length == 0 ? 1 : length);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd); /* the descriptor itself may be for writing only */
  int reader = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  uint64_t done = 0;
  while (reader >= 0 && done < length) {
    long count = syscall(SYS_pread64, reader, bytes + done, length - done, offset + done);
    if (count <= 0) break;
    done += (uint64_t)count;
  }
  if (done < length || bytes == NULL) abort();
  syscall(SYS_close, reader);
  return bytes;
}

static void note_write(int fd, struct file *file, uint64_t offset, const void *bytes, size_t length) {
  uint64_t old_length = length_of(fd);
  uint64_t old = offset >= old_length ? 0 : old_length - offset < length ? old_length - offset : length;
  char *before = bytes_of(fd, offset, old);
  note('W', file, offset, old_length, before, old, bytes, length);
  free(before);
}

static void note_cut(int fd, struct file *file, uint64_t length) {
  uint64_t old_length = length_of(fd);
  uint64_t cut = length < old_length ? old_length - length : 0;
  char *before = bytes_of(fd, length, cut);
  note('T', file, length, old_length, before, cut, NULL, 0);
  free(before);
}

static int open_known(int dirfd, const char *path, int flags, mode_t mode) {
  char buffer[PATH_MAX];
  const char *full = absolute(dirfd, path, buffer);
  if (!below(full)) return (int)syscall(SYS_openat, dirfd, path, flags, mode);
  pthread_mutex_lock(&lock);
  struct stat stat;
  if ((flags & O_CREAT) && fstatat(dirfd, path, &stat, 0) != 0 && errno == ENOENT) note('C', NULL, 0, 0, full, strlen(full), NULL, 0);
  int fd = (int)syscall(SYS_openat, dirfd, path, flags & ~O_TRUNC, mode);
  int error = errno;
  if (fd >= 0 && fd < FDS_MAX && fstat(fd, &stat) == 0) {
    struct file *file = &files[fd];
    free(file->path);
    file->path = strdup(full);
    file->inode = stat.st_ino;
    file->is_dir = S_ISDIR(stat.st_mode);
    file->appends = (flags & O_APPEND) != 0;
    if ((flags & O_TRUNC) && stat.st_size > 0) {
      note_cut(fd, file, 0);
      syscall(SYS_ftruncate, fd, 0);
    }
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return fd;
}

#define MODE(flags)                                    \
  mode_t mode = 0;                                     \
  if ((flags) & (O_CREAT | __O_TMPFILE)) {             \
    va_list rest;                                      \
    va_start(rest, flags);                             \
    mode = va_arg(rest, mode_t);                       \
    va_end(rest);                                      \
  }

int open(const char *path, int flags, ...) {
  MODE(flags)
  return open_known(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  MODE(flags)
  return open_known(AT_FDCWD, path, flags, mode);
}
int openat(int dirfd, const char *path, int flags, ...) {
  MODE(flags)
  return open_known(dirfd, path, flags, mode);
}
int openat64(int dirfd, const char *path, int flags, ...) {
  MODE(flags)
  return open_known(dirfd, path, flags, mode);
}

int close(int fd) {
  if (fd >= 0 && fd < FDS_MAX && files[fd].path != NULL) {
    pthread_mutex_lock(&lock);
    free(files[fd].path);
    files[fd].path = NULL;
    pthread_mutex_unlock(&lock);
  }
  return (int)syscall(SYS_close, fd);
}

ssize_t write(int fd, const void *bytes, size_t length) {
  if (known(fd) == NULL) return syscall(SYS_write, fd, bytes, length);
  pthread_mutex_lock(&lock);
  struct file *file = checked(fd);
  if (file != NULL) note_write(fd, file, file->appends ? length_of(fd) : (uint64_t)lseek(fd, 0, SEEK_CUR), bytes, length);
  ssize_t done = syscall(SYS_write, fd, bytes, length);
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return done;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (known(fd) == NULL) return syscall(SYS_writev, fd, parts, count);
  ssize_t done = 0;
  for (int at = 0; at < count; at++) {
    ssize_t one = write(fd, parts[at].iov_base, parts[at].iov_len);
    if (one < 0) return done > 0 ? done : one;
    done += one;
    if ((size_t)one < parts[at].iov_len) break;
  }
  return done;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
  if (known(fd) == NULL) return syscall(SYS_pwrite64, fd, bytes, length, offset);
  pthread_mutex_lock(&lock);
  struct file *file = checked(fd);
  if (file != NULL) note_write(fd, file, file->appends ? length_of(fd) : (uint64_t)offset, bytes, length);
  ssize_t done = syscall(SYS_pwrite64, fd, bytes, length, offset);
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return done;
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return pwrite64(fd, bytes, length, offset); }

int ftruncate64(int fd, off64_t length) {
  if (known(fd) == NULL) return (int)syscall(SYS_ftruncate, fd, length);
  pthread_mutex_lock(&lock);
  struct file *file = checked(fd);
  if (file != NULL) note_cut(fd, file, (uint64_t)length);
  int result = (int)syscall(SYS_ftruncate, fd, length);
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int truncate64(const char *path, off64_t length) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return fd;
  int result = ftruncate64(fd, length);
  int error = errno;
  close(fd);
  errno = error;
  return result;
}
int truncate(const char *path, off_t length) { return truncate64(path, length); }

static int is_lied_to(const char *path) {
  const char *lie = env("POWER_CUT_LIE");
  size_t length = strlen(lie), whole = strlen(path);
  if (length == 0) return 0;
  if (strcmp(lie, "*") == 0) return 1;
  if (whole >= length && strcmp(path + whole - length, lie) == 0) return 1;
  char part[256];
  snprintf(part, sizeof part, "/%s/", lie);
  return strstr(path, part) != NULL;
}

static int sync_known(int fd, long call) {
  pthread_mutex_lock(&lock);
  struct file *file = checked(fd);
  if (file == NULL) {
    pthread_mutex_unlock(&lock);
    return (int)syscall(call, fd);
  }
  int lies = is_lied_to(file->path);
  struct file told = *file; /* its path is not used once the lock is gone */
  uint64_t number = lies ? 0 : note('S', &told, 0, 0, told.path, strlen(told.path), NULL, 0);
  pthread_mutex_unlock(&lock);
  struct timespec while_ = {0, SYNC_NS};
  nanosleep(&while_, NULL);
  pthread_mutex_lock(&lock);
  if (!lies) note('E', NULL, number, 0, NULL, 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  return 0;
}
int fsync(int fd) { return known(fd) == NULL ? (int)syscall(SYS_fsync, fd) : sync_known(fd, SYS_fsync); }
int fdatasync(int fd) { return known(fd) == NULL ? (int)syscall(SYS_fdatasync, fd) : sync_known(fd, SYS_fdatasync); }

int rename(const char *from, const char *to) {
  char first[PATH_MAX], second[PATH_MAX];
  const char *full_from = absolute(AT_FDCWD, from, first), *full_to = absolute(AT_FDCWD, to, second);
  if (!below(full_from) && !below(full_to)) return (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
  pthread_mutex_lock(&lock);
  keep(full_to);
  note('R', NULL, 0, 0, full_from, strlen(full_from), full_to, strlen(full_to));
  int result = (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

int unlinkat(int dirfd, const char *path, int flags) {
  char buffer[PATH_MAX];
  const char *full = absolute(dirfd, path, buffer);
  if (!below(full)) return (int)syscall(SYS_unlinkat, dirfd, path, flags);
  pthread_mutex_lock(&lock);
  struct stat stat;
  if (fstatat(dirfd, path, &stat, AT_SYMLINK_NOFOLLOW) == 0) {
    if (!(flags & AT_REMOVEDIR)) keep(full);
    note(flags & AT_REMOVEDIR ? 'D' : 'U', NULL, 0, 0, full, strlen(full), NULL, 0);
  }
  int result = (int)syscall(SYS_unlinkat, dirfd, path, flags);
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char *path) {
  int result = unlink(path);
  return result != 0 && (errno == EISDIR || errno == EPERM) ? rmdir(path) : result;
}

int mkdirat(int dirfd, const char *path, mode_t mode) {
  char buffer[PATH_MAX];
  const char *full = absolute(dirfd, path, buffer);
  if (!below(full)) return (int)syscall(SYS_mkdirat, dirfd, path, mode);
  pthread_mutex_lock(&lock);
  struct stat stat;
  if (fstatat(dirfd, path, &stat, 0) != 0) note('M', NULL, 0, 0, full, strlen(full), NULL, 0);
  int result = (int)syscall(SYS_mkdirat, dirfd, path, mode);
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

/* Ways to change a file that this layer does not follow: the record says so, and counts as broken. */
static void not_known(int fd, const char *call) {
  pthread_mutex_lock(&lock);
  struct file *file = checked(fd);
  if (file != NULL) note('X', file, 0, 0, call, strlen(call), NULL, 0);
  pthread_mutex_unlock(&lock);
}
ssize_t sendfile64(int out, int in, off64_t *offset, size_t count) {
  not_known(out, "sendfile");
  return syscall(SYS_sendfile, out, in, offset, count);
}
ssize_t sendfile(int out, int in, off_t *offset, size_t count) { return sendfile64(out, in, offset, count); }
ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t count, unsigned flags) {
  not_known(out, "copy_file_range");
  return syscall(SYS_copy_file_range, in, in_at, out, out_at, count, flags);
}
int posix_fallocate64(int fd, off64_t offset, off64_t length) {
  not_known(fd, "posix_fallocate");
  return syscall(SYS_fallocate, fd, 0, offset, length) == 0 ? 0 : errno;
}
int posix_fallocate(int fd, off_t offset, off_t length) { return posix_fallocate64(fd, offset, length); }
int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
  not_known(fd, "fallocate");
  return (int)syscall(SYS_fallocate, fd, mode, offset, length);
}
int fallocate(int fd, int mode, off_t offset, off_t length) { return fallocate64(fd, mode, offset, length); }
