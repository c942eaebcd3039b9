/** The choice of owners for search by meaning: its field, its file, its event, and the vectors that it erases. */

import { join } from 'node:path'
import { expect } from 'chai'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { indexOrg } from '../../server/domain/indexing/index-node.ts'
import { cli } from '../operator/desk.ts'
import { made } from '../support/cast.ts'
import { gitIn } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import { client } from '../support/people.ts'
import { ann, bob, grove, newOrg, put, useScene } from './scene.ts'

describe('organisations', () => {
  useScene()

  describe('the choice for search by meaning', () => {
    const git = (org: string) => gitIn(grove, org, 'org')
    const fileOf = (org: string) => JSON.parse(git(org).say('show', 'main:org.json'))
    const choose = (org: string, embeddings: unknown) => ann.patch(`/orgs/${org}`, { embeddings })

    it('is absent until an owner makes it, and only members see it', async () => {
      const org = await newOrg({ published: true })
      await put(org, bob, 'reader')
      const { body: before } = await ann.get(`/orgs/${org}`)
      expect(before).to.not.have.property('embeddings')
      for (const embeddings of [true, false]) {
        const { body } = await choose(org, embeddings).then(expecting(200))
        expect(body).to.deep.equal({ ...before, embeddings, updated_at: body.updated_at })
        expect((await bob.get(`/orgs/${org}`)).body.embeddings).to.equal(embeddings)
        expect((await client(grove).get(`/orgs/${org}`)).body).to.not.have.property('embeddings')
      }
      const { orgs } = (await ann.get('/orgs?limit=200')).body
      for (const listed of orgs) expect(listed).to.not.have.property('embeddings')
    })

    it('is in org.json, until null takes it back', async () => {
      const org = await newOrg({ description: 'Maps' })
      const first = git(org).log().length
      const before = fileOf(org)
      await choose(org, true).then(expecting(200))
      expect(fileOf(org)).to.deep.equal({ ...before, embeddings: true })
      await choose(org, true).then(expecting(200))
      await ann.patch(`/orgs/${org}`, { name: 'Atlas' }).then(expecting(200))
      expect([git(org).log().length - first, fileOf(org).embeddings]).to.deep.equal([1, true])
      const { body } = await choose(org, null).then(expecting(200))
      expect(body).to.not.have.property('embeddings')
      expect([git(org).log().length - first, fileOf(org)]).to.deep.equal([2, before])
    })

    it('is for owners, and is true, false or null', async () => {
      const org = await newOrg({ published: true })
      await put(org, bob, 'maintainer')
      expect((await bob.patch(`/orgs/${org}`, { embeddings: true })).status).to.equal(403)
      expect((await client(grove).patch(`/orgs/${org}`, { embeddings: true })).status).to.equal(401)
      for (const wrong of ['yes', 1, {}]) {
        const { status, body } = await choose(org, wrong)
        expect([status, body.detail[0].loc]).to.deep.equal([422, ['body', 'embeddings']])
      }
      expect(fileOf(org)).to.not.have.property('embeddings')
    })

    it('is in an event and in the audit, with the choice before and after', async () => {
      const org = await newOrg()
      for (const choice of [true, false, null]) await choose(org, choice).then(expecting(200))
      const changes = [
        { before: { embeddings: null }, after: { embeddings: true } },
        { before: { embeddings: true }, after: { embeddings: false } },
        { before: { embeddings: false }, after: { embeddings: null } },
      ].map((change) => ({ changed: ['embeddings'], ...change }))
      const { events } = await made(ann.get(`/orgs/${org}/events?types=org.updated`))
      expect(events.length).to.equal(changes.length)
      for (const [n, { data }] of events.entries()) expect(data).to.deep.include(changes[n])
      const { entries } = await ann.api.listOrgAudit({ path: { org_id: org } })
      const audited = entries.filter(({ action }) => action === 'org.updated')
      expect(audited.length).to.equal(3)
    })

    it.deep('is read again from org.json where the index lost it', async () => {
      const orgs = new Map<boolean | null, string>()
      for (const choice of [true, false, null]) {
        const org = await newOrg()
        await choose(org, choice).then(expecting(200))
        orgs.set(choice, org)
      }
      const handle = openSqlite(join(grove.dataDir, 'index.sqlite'))
      try {
        handle.pragma('foreign_keys = on')
        for (const org of orgs.values()) handle.prepare('delete from org where id = ?').run(org)
      } finally {
        handle.close()
      }
      for (const [choice, org] of orgs) {
        await indexOrg(grove.deps, org)
        expect((await made(ann.get(`/orgs/${org}`))).embeddings ?? null).to.equal(choice)
      }
      const { stdout } = await cli(grove.dataDir, 'doctor')
      expect(stdout).to.include('OK: no problems found')
    })

    it('is a refusal if another program wrote something else', async () => {
      const org = await newOrg()
      const files = { 'org.json': JSON.stringify({ ...fileOf(org), embeddings: 'yes' }) }
      git(org).point('main', git(org).commit({ files, parents: [git(org).head()] }))
      await indexOrg(grove.deps, org)
      expect((await made(ann.get(`/orgs/${org}`))).embeddings).to.equal(false)
    })
  })
})
