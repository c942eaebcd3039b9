/** Runs the quick start of the README, beside a service that has just been started. */

import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Grove, startGrove } from '../support/grove.ts'
import { jq } from './clone.ts'
import { tour } from './tour.ts'

describe('the quick start of the README', () => {
  let folder: string
  let grove: Grove

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-quick-start-'))
    await cp('README.md', join(folder, 'README.md'))
    await mkdir(join(folder, 'bin'))
    await symlink(jq, join(folder, 'bin/jq'))
    grove = await startGrove({ rateLimit: true })
  })
  after(async () => {
    await grove.close()
    await rm(folder, { recursive: true, force: true })
  })

  it('signs up, creates a node, publishes and clones it, and finds it', async () => {
    const said = await tour(folder, grove.url, { sections: [{ file: 'README.md', section: 'Quick start' }] })
    expect(said).to.have.length(1)
    expect(said[0]).to.match(/^true\n[0-9a-f]{7} Create node\nWhales are mammals\.\nWhales\n$/)
  })
})
