// Cuts the power of a file system. Nothing that its journal has not written by now will be on the disk, and every call fails
// after this. Source: the kernel's fs/ext4/ext4.h, EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH.
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(int count, char **words) {
  int folder = count == 2 ? open(words[1], O_RDONLY | O_DIRECTORY) : -1;
  uint32_t without_log_flush = 2;
  if (folder < 0 || ioctl(folder, _IOR('X', 125, uint32_t), &without_log_flush) != 0) {
    perror("EXT4_IOC_SHUTDOWN");
    return 1;
  }
  close(folder);
  return 0;
}
