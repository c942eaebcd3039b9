// A file system that fails on demand, preloaded into the service under test. The file in GROVE_FAULTS says which fault is
// due. Without the file, nothing fails. A step is a call that changes names or waits for the disk: fsync, fdatasync, rename,
// link, unlink, mkdir, rmdir.
//   EIO n          the n-th step from now fails, and is recorded in <file>.log
//   KILL n         the process dies instead of the n-th step
//   … between      counts only renames of the second and further moves of a ref transaction, run/<process>/<n>/<move>
//   … ID           counts steps in that node's repository and outside repositories, so that the service's background work on
//                  other repositories does not count as a step of the operation
//   LOG 0          each step is recorded with its (first) path
//   SYNC 0         every sync fails
//   FULL 0         calls that need room fail with ENOSPC: new files and folders, links, writes
//   READONLY 0     calls that change anything fail with EROFS
// If GROVE_CALLS names a file, it gets a line for each of these calls, and for each open, stat, list of a folder, write and
// start of a program: the call and its path.
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

std::mutex turn;
std::string asked;
long calls = 0;
// Calls of this file itself are not counted.
thread_local bool inside = false;

struct Question {
  std::string what;
  long at = 0;
  std::string filter;
};

template <typename Function> Function next(const char *name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

/** Reads the requested fault. The caller holds `turn`. */
Question question(const char *file) {
  char text[96] = {0};
  int descriptor = open(file, O_RDONLY | O_CLOEXEC);
  ssize_t length = descriptor < 0 ? 0 : read(descriptor, text, sizeof text - 1);
  if (descriptor >= 0) close(descriptor);
  if (asked != text) {
    asked = text;
    calls = 0;
  }
  char what[16] = {0}, filter[40] = {0};
  Question found;
  if (length <= 0 || sscanf(text, "%15s %ld %39s", what, &found.at, filter) < 2) return found;
  found.what = what;
  found.filter = filter;
  return found;
}

bool isFurtherMove(const char *name, const char *path) {
  if (strcmp(name, "rename") != 0 || strstr(path, "/run/") == nullptr) return false;
  const char *last = strrchr(path, '/') + 1;
  return strspn(last, "123456789") > 0 && strspn(last, "0123456789") == strlen(last);
}

bool isCounted(const Question &now, const char *name, const char *path) {
  if (now.filter == "between") return isFurtherMove(name, path);
  if (now.filter == "*") return true;
  return strstr(path, ".git") == nullptr || strstr(path, now.filter.c_str()) != nullptr;
}

/** Records a call for GROVE_CALLS. */
void called(const char *name, const char *path) {
  static const char *file = getenv("GROVE_CALLS");
  if (file == nullptr || inside) return;
  inside = true;
  static int out = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  dprintf(out, "%s %s\n", name, path);
  inside = false;
}

/**
 * The path of an open file, or an empty text for a socket or a pipe. Node's signal handler writes to a pipe. It may
 * interrupt malloc, so nothing may be allocated here.
 */
struct Path {
  char text[4096] = {0};

  explicit Path(int descriptor) {
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    if (readlink(link, text, sizeof text - 1) < 0 || text[0] != '/') text[0] = 0;
  }
};

/** Records a call on an open file for GROVE_CALLS. */
void calledOn(const char *name, int descriptor) {
  static bool records = getenv("GROVE_CALLS") != nullptr;
  if (!records || inside) return;
  Path path(descriptor);
  if (path.text[0] != 0) called(name, path.text);
}

/** The error with which this call fails, or 0. */
int faultOf(const char *name, const char *path, bool isStep, bool needsRoom) {
  const char *file = getenv("GROVE_FAULTS");
  if (file == nullptr || inside) return 0;
  std::lock_guard<std::mutex> guard(turn);
  inside = true;
  Question now = question(file);
  int fault = 0;
  if (now.what == "FULL" && needsRoom) fault = ENOSPC;
  if (now.what == "READONLY" && strstr(name, "sync") == nullptr) fault = EROFS;
  if (now.what == "SYNC" && strstr(name, "sync") != nullptr) fault = EIO;
  if (isStep && isCounted(now, name, path)) {
    ++calls;
    if (now.what == "LOG" || (now.what == "EIO" && calls == now.at)) {
      int out = open((std::string(file) + ".log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
      dprintf(out, "%s %s\n", name, path);
      close(out);
    }
    if (now.what == "KILL" && calls == now.at) {
      kill(getpid(), SIGKILL);
      for (;;) pause();
    }
    if (now.what == "EIO" && calls == now.at) fault = EIO;
  }
  inside = false;
  return fault;
}

bool fails(int fault) {
  if (fault != 0) errno = fault;
  return fault != 0;
}

bool stepFails(const char *name, const char *path = "", bool needsRoom = false) {
  called(name, path);
  return fails(faultOf(name, path, true, needsRoom));
}

/** Flushing a log syncs its pipe or socket, which has no path and does not count. */
bool syncFails(const char *name, int descriptor) {
  Path path(descriptor);
  return path.text[0] != 0 && stepFails(name, path.text);
}

/** True if a write to a regular file fails. Sockets and pipes never do. */
bool writeFails(int descriptor) {
  struct stat found;
  if (inside || fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) return false;
  return fails(faultOf("write", "", false, true));
}

bool openFails(const char *path, int flags) {
  bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0;
  if (inside || !writes || strncmp(path, "/dev/", 5) == 0) return false;
  bool needsRoom = (flags & O_CREAT) != 0 && access(path, F_OK) != 0;
  return fails(faultOf("open", path, false, needsRoom));
}

}

extern "C" int fsync(int descriptor) {
  static auto real = next<int (*)(int)>("fsync");
  return syncFails("fsync", descriptor) ? -1 : real(descriptor);
}

extern "C" int fdatasync(int descriptor) {
  static auto real = next<int (*)(int)>("fdatasync");
  return syncFails("fdatasync", descriptor) ? -1 : real(descriptor);
}

extern "C" int rename(const char *from, const char *to) {
  static auto real = next<int (*)(const char *, const char *)>("rename");
  return stepFails("rename", from) ? -1 : real(from, to);
}

extern "C" int link(const char *from, const char *to) {
  static auto real = next<int (*)(const char *, const char *)>("link");
  return stepFails("link", from, true) ? -1 : real(from, to);
}

extern "C" int unlink(const char *path) {
  static auto real = next<int (*)(const char *)>("unlink");
  return stepFails("unlink", path) ? -1 : real(path);
}

extern "C" int mkdir(const char *path, mode_t mode) {
  static auto real = next<int (*)(const char *, mode_t)>("mkdir");
  return stepFails("mkdir", path, true) ? -1 : real(path, mode);
}

extern "C" int rmdir(const char *path) {
  static auto real = next<int (*)(const char *)>("rmdir");
  return stepFails("rmdir", path) ? -1 : real(path);
}

static int openAs(const char *name, const char *path, int flags, mode_t mode) {
  auto real = next<int (*)(const char *, int, mode_t)>(name);
  called("open", path);
  return openFails(path, flags) ? -1 : real(path, flags, mode);
}

static mode_t modeIn(int flags, va_list rest) { return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0; }

extern "C" int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = modeIn(flags, rest);
  va_end(rest);
  return openAs("open", path, flags, mode);
}

extern "C" int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = modeIn(flags, rest);
  va_end(rest);
  return openAs("open64", path, flags, mode);
}

extern "C" ssize_t write(int descriptor, const void *bytes, size_t count) {
  static auto real = next<ssize_t (*)(int, const void *, size_t)>("write");
  calledOn("write", descriptor);
  return writeFails(descriptor) ? -1 : real(descriptor, bytes, count);
}

extern "C" ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  static auto real = next<ssize_t (*)(int, const struct iovec *, int)>("writev");
  calledOn("write", descriptor);
  return writeFails(descriptor) ? -1 : real(descriptor, parts, count);
}

extern "C" ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t at) {
  static auto real = next<ssize_t (*)(int, const void *, size_t, off64_t)>("pwrite64");
  calledOn("write", descriptor);
  return writeFails(descriptor) ? -1 : real(descriptor, bytes, count, at);
}

extern "C" int access(const char *path, int mode) {
  static auto real = next<int (*)(const char *, int)>("access");
  called("stat", path);
  return (mode & W_OK) != 0 && fails(faultOf("access", path, false, false)) ? -1 : real(path, mode);
}

extern "C" int scandir64(const char *path, struct dirent64 ***names, int (*select)(const struct dirent64 *),
                         int (*order)(const struct dirent64 **, const struct dirent64 **)) {
  static auto real = next<decltype(&scandir64)>("scandir64");
  called("list", path);
  return real(path, names, select, order);
}

extern "C" int execvp(const char *file, char *const words[]) {
  static auto real = next<int (*)(const char *, char *const[])>("execvp");
  called("start", file);
  return real(file, words);
}

/** Node calls statx by its number. */
extern "C" long syscall(long number, ...) {
  static auto real = next<long (*)(long, ...)>("syscall");
  va_list rest;
  va_start(rest, number);
  long words[6];
  for (long &word : words) word = va_arg(rest, long);
  va_end(rest);
  // Without a path, it is of an open file.
  const char *path = number == SYS_statx ? reinterpret_cast<const char *>(words[1]) : "";
  if (path[0] != 0) called("stat", path);
  return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
