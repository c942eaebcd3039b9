/** The unit of server/deploy/, as systemd itself judges it. */

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'

const run = promisify(execFile)

describe('grove.service', () => {
  let folder: string
  let file: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-unit-'))
    file = join(folder, 'grove.service')
    const unit = await readFile('server/deploy/grove.service', 'utf8')
    // The command must be there for systemd to find no fault with it.
    await writeFile(file, unit.replace('/usr/local/bin/grove', resolve('server/bin/grove')))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('is a unit in which systemd finds nothing wrong', async () => {
    const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', '--recursive-errors=no', file])
    expect(`${stdout}${stderr}`).to.equal('')
  })

  it('leaves the service little of the machine: an exposure below 2 of 10', async () => {
    const { stdout } = await run('systemd-analyze', [
      'security',
      '--offline=true',
      '--threshold=20',
      '--no-pager',
      file,
    ])
    expect(Number(/Overall exposure level for .*: ([\d.]+)/.exec(stdout)?.[1])).to.be.below(2)
  })
})
