// Preloaded, adds milliseconds to the wall clock of a process. Each read takes them from the eight bytes of the file
// GROVE_CLOCK.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

static long long offset() {
  static const volatile long long *const mapped = [] {
    const char *name = getenv("GROVE_CLOCK");
    int file = name == nullptr ? -1 : open(name, O_RDONLY | O_CLOEXEC);
    void *found = file < 0 ? MAP_FAILED : mmap(nullptr, sizeof(long long), PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    return found == MAP_FAILED ? nullptr : static_cast<const volatile long long *>(found);
  }();
  return mapped == nullptr ? 0 : *mapped;
}

extern "C" int clock_gettime(clockid_t clock, timespec *at) noexcept {
  int result = static_cast<int>(syscall(SYS_clock_gettime, clock, at));
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    long long nanoseconds = at->tv_nsec + offset() % 1000 * 1000000;
    at->tv_sec += offset() / 1000 + (nanoseconds < 0 ? -1 : nanoseconds / 1000000000);
    at->tv_nsec = nanoseconds < 0 ? nanoseconds + 1000000000 : nanoseconds % 1000000000;
  }
  return result;
}

extern "C" int gettimeofday(timeval *at, void *) noexcept {
  timespec now;
  int result = clock_gettime(CLOCK_REALTIME, &now);
  if (result == 0) *at = {now.tv_sec, now.tv_nsec / 1000};
  return result;
}

extern "C" time_t time(time_t *at) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at != nullptr) *at = now.tv_sec;
  return now.tv_sec;
}
