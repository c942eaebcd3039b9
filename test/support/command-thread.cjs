/**
 * Runs commands of `grove` in a thread, one after the other, as support/command.ts asks. The bundle is loaded once. The
 * output of each command is kept, and its environment is separate.
 */

const { parentPort, workerData } = require('node:worker_threads')

const { runCommand } = require(workerData.program)

// Each command listens for the end of its process.
process.setMaxListeners(0)

let said
for (const name of ['stdout', 'stderr'])
  process[name].write = (chunk) => {
    said[name] += chunk
    return true
  }

parentPort.on('message', async ({ args, env }) => {
  said = { stdout: '', stderr: '' }
  process.env = env
  const code = await runCommand(args)
  parentPort.postMessage({ code: code ?? 0, ...said })
})
