import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'

const starts = 40

/** As the main thread does below. */
const inThread = `
  const { execFile } = require('node:child_process')
  const { parentPort } = require('node:worker_threads')
  const wrong = []
  const start = (left) => execFile('printenv', ['WHOSE'], { env: { ...process.env, WHOSE: 'thread ' + left } }, (error, said) => {
    if (said !== 'thread ' + left + '\\n') wrong.push(String(error ?? said))
    if (left === 1) parentPort.postMessage(wrong)
    else start(left - 1)
  })
  start(${starts})
`

describe('what starts the programs of a test (support/vfork.cc)', () => {
  it('gives each its own environment, and leaves the process its own, while other threads start some too', async () => {
    const before = { ...process.env }
    const threads = [1, 2].map(() => new Worker(inThread, { eval: true, execArgv: [] }))
    const ends = threads.map((thread) => once(thread, 'message'))
    for (let left = starts; left > 0; left--) {
      const env = { ...process.env, WHOSE: `main ${left}` }
      expect((await promisify(execFile)('printenv', ['WHOSE'], { env })).stdout).to.equal(`main ${left}\n`)
      expect({ ...process.env }).to.deep.equal(before)
    }
    expect((await Promise.all(ends)).flat(2)).to.deep.equal([])
  })
})
