// A file system that fails on demand, preloaded into the service under test: fsync, rename and link ask the file that
// GROVE_FAULTS names what to do. `EIO 3`: the third call from now fails; `SYNC 0`: every fsync fails; `KILL 3`: the process
// dies in the place of the third one; `LOG 0`: each is written down beside the file. No file: nothing happens.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <unistd.h>

static std::mutex turn;
static std::string asked;
static long calls = 0;

static bool fails(const char *name) {
  const char *file = getenv("GROVE_FAULTS");
  if (file == nullptr) return false;
  std::lock_guard<std::mutex> guard(turn);
  int descriptor = open(file, O_RDONLY | O_CLOEXEC);
  char text[64] = {0};
  ssize_t length = descriptor < 0 ? 0 : read(descriptor, text, sizeof text - 1);
  if (descriptor >= 0) close(descriptor);
  if (asked != text) {
    asked = text;
    calls = 0;
  }
  if (length <= 0) return false;
  char what[16] = {0};
  long at = 0;
  if (sscanf(text, "%15s %ld", what, &at) != 2) return false;
  ++calls;
  if (strcmp(what, "LOG") == 0) {
    std::string log = std::string(file) + ".log";
    int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    dprintf(out, "%s\n", name);
    close(out);
  }
  if (strcmp(what, "KILL") == 0 && calls == at) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  bool sync = strcmp(what, "SYNC") == 0 && strstr(name, "sync") != nullptr;
  if (!sync && (strcmp(what, "EIO") != 0 || calls != at)) return false;
  errno = EIO;
  return true;
}

template <typename Function> static Function next(const char *name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

extern "C" int fsync(int descriptor) {
  static auto real = next<int (*)(int)>("fsync");
  return fails("fsync") ? -1 : real(descriptor);
}

extern "C" int fdatasync(int descriptor) {
  static auto real = next<int (*)(int)>("fdatasync");
  return fails("fdatasync") ? -1 : real(descriptor);
}

extern "C" int rename(const char *from, const char *to) {
  static auto real = next<int (*)(const char *, const char *)>("rename");
  return fails("rename") ? -1 : real(from, to);
}

extern "C" int link(const char *from, const char *to) {
  static auto real = next<int (*)(const char *, const char *)>("link");
  return fails("link") ? -1 : real(from, to);
}
