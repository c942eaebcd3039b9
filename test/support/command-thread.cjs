/**
 * A thread in which commands of `grove` run, one after the other, as support/command.ts asks: the bundle is loaded once. What
 * a command writes is kept, and its environment is its own.
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
