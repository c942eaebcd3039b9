/** Test files that have their own modules, because one of their imports has a top-level await. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { expect } from 'chai'
import fc from 'fast-check'
import { closeAfterFile, endAfterFile } from '../support/processes.ts'
import { chance, seed } from '../support/seed.ts'
import { createSearchIndex } from './rows-in-memory.ts'

/** The instances of run.ts. */
const required = createRequire(import.meta.url)
const { endAll } = required('../support/processes.ts') as typeof import('../support/processes.ts')
const { reseed } = required('../support/seed.ts') as typeof import('../support/seed.ts')

describe('a test file whose imports have a top-level await', () => {
  before('has such an import', () => createSearchIndex().db.close())

  it('draws from the seed of the run, and from its title', () => {
    expect(fc.readConfigureGlobal().seed).to.equal(seed)
    const draw = (title: string) => {
      reseed(title)
      return chance()
    }
    expect(draw('one')).to.equal(draw('one'))
    expect(draw('one')).not.to.equal(draw('other'))
  })

  it('has its processes and services ended by the run', async () => {
    const child = endAfterFile(spawn('sleep', ['10']))
    let isClosed = false
    closeAfterFile(async () => {
      isClosed = true
    })
    const ended = once(child, 'exit')
    await endAll()
    expect(await ended).to.deep.equal([null, 'SIGKILL'])
    expect(isClosed).to.equal(true)
  })
})
