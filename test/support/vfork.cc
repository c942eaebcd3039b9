// Preloaded into the processes that run tests, where libuv calls fork() to start a program. Fork copies the page tables of
// the process, 4 ms for 500 MB, and makes it fault in every page that it writes next. vfork() lends the memory to the child
// until the child executes its program, and stops the calling thread until then. libuv's child (src/unix/process.c) does
// little before that: it sets `environ` and writes to the stack frame of uv_spawn. Both are restored for the parent. All
// threads share one `environ`, and the main thread reads it (process.env), while other threads have their own copies. Other
// threads therefore fork.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

extern "C" {

__attribute__((visibility("hidden"))) pid_t (*nextFork)();

}

namespace {

__attribute__((constructor)) void preloadThisProcessAlone() {
  nextFork = reinterpret_cast<pid_t (*)()>(dlsym(RTLD_NEXT, "fork"));
  // Programs that this process starts must not be preloaded: Git and shells continue in the child of a fork.
  unsetenv("LD_PRELOAD");
}

// The frame of uv_spawn has 560 bytes in Node 20. The frames of its callers above it do not change during this time.
struct Kept {
  char **environment;
  char frame[1024];
};

}

extern "C" {

// Null if this is not the main thread.
__attribute__((visibility("hidden"))) Kept *keepFrame(const char *frame) {
  if (gettid() != getpid()) return nullptr;
  auto kept = static_cast<Kept *>(malloc(sizeof(Kept)));
  if (kept == nullptr) abort();
  kept->environment = environ;
  memcpy(kept->frame, frame, sizeof(kept->frame));
  return kept;
}

__attribute__((visibility("hidden"))) pid_t restoreFrame(Kept *kept, char *frame, long result) {
  memcpy(frame, kept->frame, sizeof(kept->frame));
  environ = kept->environment;
  free(kept);
  if (result >= 0) return result;
  errno = -result;
  return -1;
}

}

// When the child returns, no frame of this function may be below the caller's, so this is assembly. The return address waits
// in a register, and registers survive the system call. 58 is vfork.
asm(R"(
  .text
  .globl fork
  .type fork, @function
fork:
  subq $8, %rsp
  leaq 16(%rsp), %rdi
  call keepFrame
  addq $8, %rsp
  testq %rax, %rax
  jz 2f
  movq %rax, %rsi
  popq %rdi
  movl $58, %eax
  syscall
  pushq %rdi
  testq %rax, %rax
  jz 1f
  movq %rax, %rdx
  movq %rsi, %rdi
  leaq 8(%rsp), %rsi
  jmp restoreFrame
1:
  ret
2:
  jmp *nextFork(%rip)
  .size fork, .-fork
)");
