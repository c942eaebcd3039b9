/** A fault of the file system is never read as "nothing there". */

import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { GitError } from '../../gitstore/errors.ts'
import { exists, ignoreMissing, listNames } from '../../gitstore/fs-exists.ts'
import { checkReadOnly, markReadOnly, refuseReadOnly } from '../../gitstore/refs/read-only.ts'
import { encodeOwner } from '../../gitstore/refs/ref-lock.ts'
import { listStaleFiles } from '../../gitstore/upkeep/stale-files.ts'
import { findOccupant } from '../../server/domain/operator/restore.ts'
import { ensurePersonalOrg } from '../../server/domain/orgs/orgs.ts'
import { allOf } from '../support/all-of.ts'
import { failing } from '../support/failing.ts'
import { gitIn } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

const hours = 3_600_000

describe('what cannot be looked at', () => {
  let folder: string
  const { grove, ann } = useWorld({ ann: 'owner' })

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'grove-absence-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  const codeOf = (work: () => Promise<unknown>) =>
    work().then(
      (answer) => ({ answer }),
      (error: unknown) => (error instanceof GitError ? error.code : error),
    )

  it('is there or not there only if the file system says so', async () => {
    symlinkSync('round', join(folder, 'round'))
    writeFileSync(join(folder, 'file'), '')
    for (const name of ['nothing', 'file/below', 'round']) expect(exists(join(folder, name)), name).to.equal(false)
    for (const name of ['nothing', 'file', 'round']) expect(await listNames(join(folder, name)), name).to.deep.equal([])
    for (const name of ['nothing', 'file/below', 'round'])
      expect(await ignoreMissing(stat(join(folder, name))), name).to.equal(undefined)
    const faults = { EMFILE: 'busy', EIO: 'storage_error', EACCES: 'storage_error' } as const
    for (const [fault, code] of Object.entries(faults) as ['EMFILE' | 'EIO' | 'EACCES', string][]) {
      expect(await codeOf(() => failing('stat', folder, fault, async () => exists(folder))), fault).to.equal(code)
      expect(await codeOf(() => failing('readdir', folder, fault, () => listNames(folder))), fault).to.equal(code)
      const error = Object.assign(new Error(fault), { code: fault })
      expect(await ignoreMissing(Promise.reject(error)).catch((thrown: unknown) => thrown)).to.equal(error)
    }
  })

  it('makes no deleted personal organisation again: the trash', async () => {
    const { dataDir, deps } = grove
    await ann.delete(`/orgs/${ann.org}`).then(expecting(204))
    const person = { kind: 'person', id: ann.user.id, email: ann.user.email, name: 'Ann', isAdmin: false } as const
    const trash = join(dataDir, 'trash')
    const again = () => ensurePersonalOrg({ ...deps, actor: person }, ann.org)
    expect(await codeOf(() => failing('readdir', trash, 'EMFILE', again))).to.equal('busy')
    await again()
    expect(await readdir(dataDir)).not.to.include(ann.org)
  })

  it('leaves a lock whose owner may live: the folder of live processes', async () => {
    const git = gitIn({ dataDir: folder }, 'org', 'node')
    git.run(['init', '-q', '--bare', git.dir])
    const owner = { process: 'alive', transaction: '1', note: '', locks: [] }
    writeFileSync(join(git.dir, 'refs/heads/main.lock'), encodeOwner(owner))
    const leftovers = () => allOf(listStaleFiles(join(folder, 'run'), git, Date.now() + 3 * hours))
    const home = join(folder, 'run', owner.process)
    expect(await codeOf(() => failing('stat', home, 'EIO', leftovers))).to.equal('storage_error')
    expect(await leftovers()).to.deep.equal([join(git.dir, 'refs/heads/main.lock')])
  })

  it('is not a free folder for a restore, because processes run on it', async () => {
    const run = join(folder, 'run-here', 'run')
    const occupied = () => findOccupant(join(folder, 'run-here'))
    expect(await codeOf(() => failing('readdir', run, 'EACCES', occupied))).to.equal('storage_error')
    expect(await occupied()).to.equal(undefined)
  })

  it('keeps a repository only read where what vanishes beside is not all that there is to sync', async () => {
    const git = gitIn({ dataDir: folder }, 'org', 'suspect')
    git.run(['init', '-q', '--bare', git.dir])
    markReadOnly(git)
    const heads = join(git.dir, 'refs', 'heads')
    // A folder that goes while others are looked through says nothing of those.
    const both = () => failing('readdir', join(git.dir, 'refs'), 'EIO', () => checkReadOnly(git))
    expect(await codeOf(() => failing('readdir', heads, 'ENOENT', both))).to.equal('storage_error')
    expect(() => refuseReadOnly(git)).to.throw(GitError)
    expect(await failing('readdir', heads, 'ENOENT', () => checkReadOnly(git))).to.equal(true)
    refuseReadOnly(git)
  })
})
