/** The library of faults, preloaded into a process that signals interrupt. */
import { spawn } from 'node:child_process'
import { expect } from 'chai'
import { noteCalls } from '../support/calls.ts'
import { outcomeOf } from '../support/command.ts'
import { newDataDir } from '../support/data-folder.ts'
import { endAfterFile } from '../support/processes.ts'

/** Node's handler of a signal writes to a pipe. The signals come while malloc holds its lock. */
const interrupted = `
const { execFile } = require('node:child_process')
const { deflateSync } = require('node:zlib')
let isOver = false
process.on('SIGWINCH', () => {})
const send = 'for ((n = 0; n < 20000; n++)); do kill -WINCH ' + process.pid + '; done'
execFile('bash', ['-c', send], () => { isOver = true })
const allocate = () => {
  for (let n = 0; n < 200; n++) deflateSync('a')
  if (isOver) process.stdout.write('over')
  else setImmediate(allocate)
}
allocate()`

/** Milliseconds after which it hangs. It takes two seconds. */
const hangsAfterMs = 120_000

describe('the library of faults', () => {
  it('allocates nothing in a handler of signals', async () => {
    const calls = noteCalls(await newDataDir())
    try {
      const { LD_PRELOAD, GROVE_CALLS } = calls.environment
      const env = { ...process.env, LD_PRELOAD, GROVE_CALLS }
      const child = spawn(process.execPath, ['-e', interrupted], { env, timeout: hangsAfterMs, killSignal: 'SIGKILL' })
      expect(await outcomeOf(endAfterFile(child))).to.deep.equal({ code: 0, stdout: 'over', stderr: '' })
    } finally {
      calls.remove()
    }
  })
})
