/** Drafts in backups, mirrors and a rebuilt index, and who sees them through Git. */

import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { cli, folder, newToken, run, useDesk } from '../operator/desk.ts'
import { gitIn } from '../support/git.ts'
import { startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'

describe('drafts', () => {
  useDesk()

  it('are in a backup and in a mirror by an owner, and survive a rebuilt index and a restore', async () => {
    const [dataDir, backup, restored] = [await folder(), await folder(), join(await folder(), 'restored')]
    const id = randomUUID()
    let grove = await startGrove({ dataDir })
    let at = ''
    let version = ''
    let ann: PersonClient
    try {
      ann = await signUp(grove, 'Ann')
      const bob = await signUp(grove, 'Bob')
      await ann.put(`/orgs/${ann.org}/members/bob@example.org`, { role: 'maintainer' }).then(expecting(200))
      at = `/orgs/${ann.org}/drafts/${id}`
      const body = { node_id: randomUUID(), title: 'Whales', text_content: 'Whales', expected_version: null }
      version = (await ann.put(at, body).then(expecting(200))).body.version
      const refs = async (who: PersonClient) => {
        const header = `http.extraHeader=Authorization: Bearer ${await newToken(who)}`
        return run('git', ['-c', header, 'ls-remote', `${grove.url}/git/${ann.org}/org.git`])
      }
      expect((await refs(ann)).stdout).to.include(`${version}\trefs/grove/drafts/`)
      const bobs = await refs(bob)
      expect([bobs.code, bobs.stdout]).to.deep.equal([128, ''])
    } finally {
      await grove.close()
    }
    for (const name of ['index.sqlite', 'index.sqlite-wal', 'index.sqlite-shm'])
      await rm(join(dataDir, name), { force: true })
    grove = await startGrove({ dataDir })
    try {
      const again = client(grove, ann.session.accessToken)
      expect((await again.get(at).then(expecting(200))).body).to.include({ version, text_content: 'Whales' })
    } finally {
      await grove.close()
    }
    for (const args of [['doctor'], ['backup', backup]]) {
      const { code, stdout, stderr } = await cli(dataDir, ...args)
      expect([code, stderr], stdout).to.deep.equal([0, ''])
    }
    const { code, stdout, stderr } = await cli(restored, 'restore', backup)
    expect([code, stderr], stdout).to.deep.equal([0, ''])
    const ref = `refs/grove/drafts/${ann.user.id.slice(-12)}/${id}`
    expect(gitIn({ dataDir: restored }, ann.org, 'org').say('rev-parse', ref)).to.equal(version)
  })
})
