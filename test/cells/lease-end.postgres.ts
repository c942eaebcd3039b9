/** A lease that ends during a change, and one whose renewal is answered late. */
import { execFile } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { mock } from 'node:test'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { findCell } from '../../index/credentials/cells.ts'
import type { CredentialsSchema } from '../../index/credentials/schema.ts'
import type { Database } from '../../index/sqlite/database.ts'
import { openLease } from '../../server/domain/cells/lease.ts'
import { newDataDir } from '../support/data-folder.ts'
import { remoteUrl } from '../support/desk.ts'
import { newGate } from '../support/gate.ts'
import { gitIn } from '../support/git.ts'
import { expecting, newNode } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { cellNamed, here, there, useCells } from './scene.ts'

const run = promisify(execFile)
const sentence = 'The lease of this cell ended during the change, which may be lost; read again before you repeat it'

describe('the end of a lease', () => {
  useCells({ logLevel: 'error' })

  it('during a change is 503 outcome_unknown, and in a push the branch is refused', async () => {
    const ann = await signUp(here, 'Ann')
    const node = await newNode(here, ann)
    await withLeaseEnded(async () => {
      const { status, body } = await ann.patch(`/orgs/${ann.org}`, { name: 'New' })
      expect([status, body]).to.deep.equal([503, { detail: sentence, code: 'outcome_unknown' }])
      const url = remoteUrl(here, ann.org, node.id, ann.session.accessToken)
      const pushed = run('git', ['push', url, 'main:refs/heads/late'], { cwd: node.git.dir })
      expect(await pushed.catch(({ stderr }) => stderr)).to.match(/! \[remote rejected\].*lease of this cell ended/s)
    })
    // What is not acknowledged may stand.
    expect(gitIn(here, ann.org, 'org').say('show', 'main:org.json')).to.include('"New"')
  })

  it('during a change hides nothing of it: what may be lost is read at once', async () => {
    const bob = await signUp(here, 'Bob')
    const [kept, gone] = [await newNode(here, bob), await newNode(here, bob)]
    await withLeaseEnded(async () => {
      for (const change of [
        bob.patch(`/orgs/${bob.org}`, { name: 'New' }),
        bob.patch(kept.at, { title: 'Seals' }),
        bob.delete(gone.at),
      ])
        expect((await change).body.code).to.equal('outcome_unknown')
    })
    expect((await bob.get(`/orgs/${bob.org}`).then(expecting(200))).body.name).to.equal('New')
    const { nodes } = (await bob.get(`/orgs/${bob.org}/nodes`).then(expecting(200))).body
    expect(nodes.map(({ title }: { title: string }) => title)).to.deep.equal(['Seals'])
    const listed = (await bob.get('/orgs').then(expecting(200))).body.orgs
    expect(listed.map(({ name }: { name: string }) => name)).to.deep.equal(['New'])
  })

  it('comes no later if the answer to a renewal does', async () => {
    const folder = await newDataDir()
    await mkdir(join(folder, 'me'))
    const { credentials, log } = there.deps
    const [first, second] = [newGate(), newGate()]
    let answers = Promise.resolve()
    let asked = 0
    const slow: Database<CredentialsSchema> = {
      ...credentials,
      write: async (work) => {
        asked++
        const heardOf = answers
        const result = await credentials.write(work)
        await heardOf
        return result
      },
    }
    mock.timers.enable({ apis: ['setInterval'] })
    const real = Date.now
    const draining = new AbortController().signal
    const options = { ...cellNamed('late'), run: folder, process: 'me', leave: () => {}, log, draining, isNeeded: true }
    const lease = await openLease({ ...options, credentials: slow })
    try {
      const untilOf = async () => (await findCell(credentials.read, 'late'))?.until ?? 0
      const taken = await untilOf()
      answers = first.opened
      mock.timers.tick(3_000)
      await until(async () => (await untilOf()) > taken)
      Date.now = () => real() + 9_000
      answers = second.opened
      const before = asked
      first.open()
      // The next renewal begins once this one has been heard of.
      await until(async () => {
        mock.timers.tick(3_000)
        return asked > before
      })
      expect(lease.leftMs()).to.be.at.most(1_000)
    } finally {
      Date.now = real
      first.open()
      second.open()
      await lease.close()
      mock.timers.reset()
      await rm(folder, { recursive: true })
    }
  })
})

/** While `work` runs, the lease of the cell `here` ends at the last look of each transaction. */
async function withLeaseEnded(work: () => Promise<void>): Promise<void> {
  const { fence } = here.deps.store
  if (fence === undefined) throw new Error('A cell has a fence')
  const { after } = fence
  const real = Date.now
  Object.assign(fence, {
    after: () => {
      Date.now = () => real() + 3_600_000
      try {
        after()
      } finally {
        Date.now = real
      }
    },
  })
  try {
    await work()
  } finally {
    Object.assign(fence, { after })
  }
}
