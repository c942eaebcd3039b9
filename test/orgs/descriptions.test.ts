/** The descriptions of organisations. */

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { cli } from '../operator/desk.ts'
import { newDataDir } from '../support/data-folder.ts'
import { gitIn } from '../support/git.ts'
import { startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { client, password, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { ann, bob, grove, newOrg, put, useScene } from './scene.ts'

const description = 'What lives in the sea,\n\tand what lives on it: 🐋.\r\n'

describe('organisations', () => {
  useScene()

  describe('the description', () => {
    const fileOf = (org: string) => JSON.parse(gitIn(grove, org, 'org').say('show', 'main:org.json'))
    const commitsOf = (org: string) => gitIn(grove, org, 'org').log().length

    it('is what it was made with, empty unless it was given, wherever the organisation is answered', async () => {
      const { body } = await ann.post('/orgs', { name: 'Atlas', description }).then(expecting(201))
      expect(body.description).to.equal(description)
      await ann.patch(`/orgs/${body.id}`, { published: true }).then(expecting(200))
      await put(body.id, bob, 'reader')
      for (const who of [ann, bob, client(grove)])
        expect((await who.get(`/orgs/${body.id}`)).body.description).to.equal(description)
      const { orgs } = (await bob.get('/orgs')).body
      expect(orgs.map((org: { description: string }) => org.description)).to.deep.equal(['', description])
      expect((await ann.get(`/orgs/${ann.org}`)).body.description).to.equal('')
    })

    it('changes by one commit of org.git, or none, and leaves the rest as it is', async () => {
      const org = await newOrg({ name: 'Atlas', description: 'Of old.' })
      const { body: before } = await ann.get(`/orgs/${org}`)
      const { body: after } = await ann.patch(`/orgs/${org}`, { description }).then(expecting(200))
      expect(after).to.deep.equal({ ...before, description, updated_at: after.updated_at })
      expect([fileOf(org).description, commitsOf(org)]).to.deep.equal([description, 2])
      for (const same of [{ description }, { description: null }, {}, { name: 'Atlas' }])
        expect(await ann.patch(`/orgs/${org}`, same)).to.deep.equal({ status: 200, body: after })
      expect(commitsOf(org)).to.equal(2)
      expect((await ann.patch(`/orgs/${org}`, { name: 'Sea' })).body).to.include({ name: 'Sea', description })
      for (const empty of ['', ''])
        expect((await ann.patch(`/orgs/${org}`, { description: empty })).body.description).to.equal('')
      expect(commitsOf(org)).to.equal(4)
      expect(fileOf(org)).to.not.have.property('description')
    })

    it('is for owners to change', async () => {
      const org = await newOrg({ name: 'Atlas', published: true })
      await put(org, bob, 'maintainer')
      expect((await bob.patch(`/orgs/${org}`, { description })).status).to.equal(403)
      expect((await client(grove).patch(`/orgs/${org}`, { description })).status).to.equal(401)
      expect((await ann.get(`/orgs/${org}`)).body.description).to.equal('')
    })

    it('has at most 2,000 characters, as people count them, and of control characters tabs and line ends alone', async () => {
      const org = await newOrg({ name: 'Atlas' })
      const longest = '🐋'.repeat(2_000)
      const answer = await ann.patch(`/orgs/${org}`, { description: longest }).then(expecting(200))
      expect(answer.body.description).to.equal(longest)
      for (const [wrong, type] of [
        ['x'.repeat(2_001), 'string_too_long'],
        ['a\u0000b', 'string_pattern_mismatch'],
        ['a\u001bb', 'string_pattern_mismatch'],
        ['a\u0085b', 'string_pattern_mismatch'],
        [7, 'string_type'],
      ] as const)
        for (const refused of [
          await ann.patch(`/orgs/${org}`, { description: wrong }),
          await ann.post('/orgs', { name: 'Atlas', description: wrong }),
        ]) {
          const { loc, type: told } = refused.body.detail[0]
          expect([refused.status, loc, told]).to.deep.equal([422, ['body', 'description'], type])
        }
      expect((await ann.get(`/orgs/${org}`)).body.description).to.equal(longest)
    })
  })
})

describe('the descriptions of organisations in a data folder', () => {
  const olderIndex = `alter table org drop column description; delete from schema_migration where name like '005_%'`

  it.deep(
    'come from the repositories: without an index, and with one that was made before there were any',
    async () => {
      const dataDir = await newDataDir()
      const first = await startGrove({ dataDir })
      const zoe = await signUp(first, 'Zoe')
      const { body } = await zoe.post('/orgs', { name: 'Atlas', description }).then(expecting(201))
      await first.close()
      try {
        for (const make of [
          () => rm(join(dataDir, 'index.sqlite')),
          async () => {
            const db = openSqlite(join(dataDir, 'index.sqlite'))
            db.exec(olderIndex)
            db.close()
          },
        ]) {
          await make()
          const again = await startGrove({ dataDir })
          try {
            const login = await client(again)
              .post('/auth/login', { email: zoe.user.email, password })
              .then(expecting(200))
            const reader = client(again, login.body.accessToken)
            // Rows of an older version are completed in the background.
            await until(async () => (await reader.get(`/orgs/${body.id}`)).body.description === description)
            expect((await reader.get(`/orgs/${zoe.org}`)).body.description).to.equal('')
            await until(() => rowsLacking(dataDir) === 0)
          } finally {
            await again.close()
          }
          const { code, stdout } = await cli(dataDir, 'doctor')
          expect(code, stdout).to.equal(0)
        }
      } finally {
        await rm(dataDir, { recursive: true, force: true })
      }
    },
  )
})

function rowsLacking(dataDir: string): unknown {
  const db = openSqlite(join(dataDir, 'index.sqlite'), { readonly: true })
  try {
    return db.prepare('select count(*) from org where description is null').pluck().get()
  } finally {
    db.close()
  }
}
