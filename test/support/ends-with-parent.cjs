// Ends a process with the one that started it, even if that is killed. Its standard input is a pipe, which then closes. No
// program that tests start reads its standard input. A worker of cluster has another way. It stops when it loses the first
// process, after it has answered requests in flight. A thread has no standard input.
const { isWorker } = require('node:cluster')
const { isMainThread } = require('node:worker_threads')

if (isMainThread && !isWorker) {
  process.stdin
    .resume()
    .once('end', () => process.kill(process.pid, 'SIGKILL'))
    .unref()
}
