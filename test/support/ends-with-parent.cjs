// Ends a process with the one that started it, however that one ends: its standard input is a pipe, which closes then.
// Nothing that tests start reads its standard input. A worker of cluster has its own way: it stops when it loses the first
// process, once it has answered what is in flight. A thread has no standard input.
const { isWorker } = require('node:cluster')
const { isMainThread } = require('node:worker_threads')

if (isMainThread && !isWorker) {
  process.stdin
    .resume()
    .once('end', () => process.kill(process.pid, 'SIGKILL'))
    .unref()
}
