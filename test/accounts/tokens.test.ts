/** Personal access tokens: made, listed, ended, through HTTP. */

import { createHash, randomUUID } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { issueResetToken } from '../../server/domain/accounts/sessions.ts'
import { newDataDir } from '../support/data-folder.ts'
import { expecting, newNode } from '../support/node.ts'
import { type Answer, client, type PersonClient, password, signUp } from '../support/people.ts'
import { spawnGrove } from '../support/spawned-grove.ts'
import { useWorld } from '../support/world.ts'

const noToken = { status: 404, body: { detail: 'Token not found', code: 'token_not_found' } }

const noOrg = { status: 404, body: { detail: 'Organisation not found', code: 'org_not_found' } }

const noNode = { status: 404, body: { detail: 'Node not found', code: 'node_not_found' } }

const badToken = { status: 401, body: { detail: 'The token is invalid, expired or revoked', code: 'invalid_token' } }

const minute = 60_000

describe('personal access tokens', () => {
  const { grove, bob } = useWorld({ bob: 'owner' }, { now: () => new Date(time) })
  let ann: PersonClient
  const started = new Date('2026-01-01T00:00:00Z').getTime()
  let time = started
  const at = (ms: number) => new Date(ms).toISOString()

  /** A new person each time, so that a list holds what its test has made. */
  beforeEach(async () => {
    time = started
    ann = await signUp(grove, `Ann ${randomUUID()}`)
  })

  const laptop = { name: 'Laptop', access: 'write' }
  const issue = async (fields: object = {}, who = ann): Promise<Answer['body']> =>
    (await who.post('/auth/tokens', { ...laptop, ...fields }).then(expecting(201))).body
  const list = async (who = ann): Promise<Answer['body'][]> =>
    (await who.get('/auth/tokens').then(expecting(200))).body.tokens
  /** In the file, which may hold more than its rows; of PostgreSQL the rows. */
  const stored = async (): Promise<Buffer> => {
    if (grove.deps.config.databaseUrl !== undefined)
      return Buffer.from(
        JSON.stringify(await grove.deps.credentials.read.selectFrom('access_token').selectAll().execute()),
      )
    const files = ['credentials.sqlite', 'credentials.sqlite-wal'].map((file) => readFile(join(grove.dataDir, file)))
    return Buffer.concat(await Promise.all(files))
  }
  const me = (token: string) => client(grove, token).get('/auth/me')

  describe('making one', () => {
    it('shows the secret once, with the URL to revoke it, and keeps it out of every cache', async () => {
      const { status, body, headers } = await ann.post('/auth/tokens', laptop)
      const { id, token, ...rest } = body
      expect(status).to.equal(201)
      expect(token).to.match(/^grv_[0-9A-Za-z]{43}$/)
      expect(rest).to.deep.equal({ ...laptop, hint: token.slice(-4), created_at: at(started) })
      expect(headers).to.include({ location: `/auth/tokens/${id}`, 'cache-control': 'no-store' })
      expect(await list()).to.deep.equal([{ id, ...rest }])
    })

    it('keeps a hash of the secret and nothing that could be sent', async () => {
      const { token } = await issue()
      const bytes = await stored()
      const hash = createHash('sha256').update(token).digest('hex')
      expect([hash, token, token.slice(4)].map((text) => bytes.includes(text))).to.deep.equal([true, false, false])
    })

    it('answers what it is bound to and when it ends, in UTC', async () => {
      const node = await newNode(grove, ann)
      const bounds = { org_id: ann.org, node_id: node.id }
      const token = await issue({ ...bounds, access: 'read', expires_at: '2026-02-01T01:00:00+01:00' })
      expect(token).to.include({ ...bounds, access: 'read', expires_at: '2026-02-01T00:00:00.000Z' })
      expect((await list())[0]).to.include({ ...bounds, expires_at: '2026-02-01T00:00:00.000Z' })
    })

    it('refuses a past time, an invalid time, and a node without its organisation', async () => {
      const problems = async (fields: object) =>
        (await ann.post('/auth/tokens', { ...laptop, ...fields }).then(expecting(422))).body.detail
      for (const expires_at of [at(started), '2025-12-31T23:59:59Z']) {
        const msg = 'A token must expire in the future'
        const problem = { loc: ['body', 'expires_at'], msg, type: 'value_error', input: expires_at }
        expect(await problems({ expires_at })).to.deep.equal([problem])
      }
      expect(await problems({ expires_at: 'tomorrow' })).to.deep.equal([
        {
          loc: ['body', 'expires_at'],
          msg: 'Input should be a valid datetime',
          type: 'datetime_parsing',
          input: 'tomorrow',
        },
      ])
      expect(await problems({ expires_at: '2026-06-30T23:59:60Z' })).to.have.length(1)
      expect(await problems({ node_id: randomUUID() })).to.deep.equal([
        { loc: ['body', 'node_id'], msg: 'A token for a node also needs its org_id', type: 'value_error' },
      ])
      expect(await list()).to.deep.equal([])
    })

    it('takes null for what is optional as absent', async () => {
      const token = await issue({ org_id: null, node_id: null, expires_at: null })
      expect(token).to.not.have.any.keys('org_id', 'node_id', 'expires_at')
    })

    it('finds no organisation or node that the person may not see, nor one that nobody has', async () => {
      const { id } = await newNode(grove, bob)
      const mine = await newNode(grove, ann)
      const bound = (fields: object) => ann.post('/auth/tokens', { ...laptop, ...fields })
      for (const org_id of [bob.org, randomUUID()]) {
        expect(await bound({ org_id }), org_id).to.deep.equal(noOrg)
        expect(await bound({ org_id, node_id: mine.id }), org_id).to.deep.equal(noOrg)
      }
      for (const node_id of [id, randomUUID(), 'org']) {
        expect(await bound({ org_id: ann.org, node_id }), node_id).to.deep.equal(noNode)
      }
    })

    it('ends at a hundred, until one is revoked', async () => {
      const { id } = await issue()
      for (let count = 1; count < 100; count++) await issue()
      expect(await ann.post('/auth/tokens', laptop)).to.deep.equal({
        status: 409,
        body: { detail: 'You have 100 tokens; revoke one that you no longer use', code: 'too_many_tokens' },
      })
      await ann.delete(`/auth/tokens/${id}`).then(expecting(204))
      const [left, right] = await Promise.all([ann.post('/auth/tokens', laptop), ann.post('/auth/tokens', laptop)])
      expect([left.status, right.status].sort()).to.deep.equal([201, 409])
    })
  })

  describe('the list', () => {
    it('is of my own, the oldest first, by pages', async () => {
      const names = ['Laptop', 'Server', 'Phone']
      for (const name of names) {
        await issue({ name })
        time += 1000
      }
      await issue({ name: 'Bob' }, bob)
      expect((await list()).map(({ name }) => name)).to.deep.equal(names)
      const { body, headers } = await ann.get('/auth/tokens?limit=2&offset=1').then(expecting(200))
      expect({ ...body, tokens: body.tokens.map((token: { name: string }) => token.name) }).to.deep.equal({
        tokens: ['Server', 'Phone'],
        total: 3,
        limit: 2,
        offset: 1,
      })
      expect(headers).to.not.have.property('link')
      expect((await ann.get('/auth/tokens?limit=2')).headers.link).to.contain('offset=2')
    })

    it('says when each was last used, to the minute', async () => {
      const { id, token } = await issue()
      const { id: idle } = await issue({ name: 'Idle' })
      const lastUse = async (of = id) => (await list()).find((one) => one.id === of).last_used_at
      /** The use is written after the answer. */
      const used = async (when: number) => {
        await grove.settled()
        expect(await lastUse()).to.equal(at(when))
      }
      expect(await lastUse()).to.equal(undefined)
      await me(token).then(expecting(200))
      await used(started)
      time = started + minute - 1
      await me(token).then(expecting(200))
      time = started + minute
      expect(await lastUse(), 'within a minute').to.equal(at(started))
      await me(token).then(expecting(200))
      await used(started + minute)
      expect(await lastUse(idle)).to.equal(undefined)
    })

    it('keeps what has expired, until it is revoked', async () => {
      const { id } = await issue({ expires_at: at(started + minute) })
      time += minute
      expect((await list()).map((token) => token.id)).to.deep.equal([id])
      await ann.delete(`/auth/tokens/${id}`).then(expecting(204))
      expect(await list()).to.deep.equal([])
    })
  })

  describe('the end of one', () => {
    it('comes with the next request once it is revoked, and others stay valid', async () => {
      const [lost, kept] = [await issue(), await issue()]
      expect((await me(lost.token)).body).to.deep.equal(ann.user)
      await ann.delete(`/auth/tokens/${lost.id}`).then(expecting(204))
      expect(await me(lost.token)).to.deep.equal(badToken)
      expect((await me(kept.token)).status).to.equal(200)
      expect(await ann.delete(`/auth/tokens/${lost.id}`)).to.deep.equal(noToken)
    })

    it('comes at the time that was set', async () => {
      const { token } = await issue({ expires_at: at(started + minute) })
      time = started + minute - 1
      expect((await me(token)).status).to.equal(200)
      time = started + minute
      expect(await me(token)).to.deep.equal(badToken)
    })

    it('is nothing that others can bring about, or see', async () => {
      const { id, token } = await issue()
      expect(await bob.delete(`/auth/tokens/${id}`)).to.deep.equal(noToken)
      expect(await ann.delete(`/auth/tokens/${randomUUID()}`)).to.deep.equal(noToken)
      expect(await ann.delete(`/auth/tokens/${token}`)).to.deep.equal(noToken)
      expect((await me(token)).status).to.equal(200)
    })

    it('does not come with a new password, but with a reset', async () => {
      const { token } = await issue()
      const { token: bobs } = await issue({}, bob)
      const new_password = 'staple the horse'
      await ann.post('/auth/password', { old_password: password, new_password }).then(expecting(200))
      expect((await me(token)).status).to.equal(200)
      const { reset_token } = await issueResetToken(grove.deps, ann.user.id)
      await client(grove).post('/auth/password', { reset_token, new_password }).then(expecting(200))
      expect(await me(token)).to.deep.equal(badToken)
      expect((await me(bobs)).status).to.equal(200)
    })

    it.deep('comes at once in every process over the data folder', async () => {
      const dataDir = await newDataDir()
      const [here, there] = await Promise.all([spawnGrove(dataDir), spawnGrove(dataDir)])
      try {
        const cleo = await signUp(here, 'Cleo')
        const { id, token } = (await cleo.post('/auth/tokens', laptop).then(expecting(201))).body
        const elsewhere = client(there, token)
        expect((await elsewhere.get('/auth/me')).body).to.deep.equal(cleo.user)
        await cleo.delete(`/auth/tokens/${id}`).then(expecting(204))
        expect(await elsewhere.get('/auth/me')).to.deep.equal(badToken)
      } finally {
        await here.stop()
        await there.stop()
        await rm(dataDir, { recursive: true, force: true })
      }
    })

    it('comes for an organisation with the end of the membership, for any token', async () => {
      const { token } = await issue({ org_id: bob.org }, await member('editor'))
      const org = client(grove, token)
      const nodes = `/orgs/${bob.org}/nodes`
      await org.post(nodes, { title: 'Whales' }).then(expecting(201))
      await bob.put(`/orgs/${bob.org}/members/${ann.user.email}`, { role: 'reader' }).then(expecting(200))
      expect((await org.post(nodes, { title: 'Whales' })).body.code).to.equal('forbidden')
      await bob.delete(`/orgs/${bob.org}/members/${ann.user.email}`).then(expecting(204))
      expect(await org.get(nodes)).to.deep.equal(noOrg)
    })

    /** Ann, in Bob's organisation. */
    async function member(role: string): Promise<PersonClient> {
      await bob.put(`/orgs/${bob.org}/members/${ann.user.email}`, { role }).then(expecting(200))
      return ann
    }
  })

  describe('what is none', () => {
    it('is 401: one letter changed, too short, a reset token, a refresh token, a hash', async () => {
      const { token } = await issue()
      const { reset_token: reset } = await issueResetToken(grove.deps, ann.user.id)
      const rows = await grove.deps.credentials.read.selectFrom('access_token').select('hash').execute()
      const last = token.at(-1) === 'a' ? 'b' : 'a'
      const wrong = [token.slice(0, -1) + last, token.slice(0, -1), `${token}a`, token.toUpperCase(), token.slice(4)]
      for (const one of [...wrong, reset, ann.session.refreshToken, ...rows.map(({ hash }) => hash)]) {
        expect(await me(one), one).to.deep.equal(badToken)
      }
    })

    it('is a token of another kind: it resets no password and prolongs no session', async () => {
      const { token } = await issue()
      const anyone = client(grove)
      const new_password = 'staple the horse'
      expect((await anyone.post('/auth/password', { reset_token: token, new_password })).status).to.equal(401)
      expect((await anyone.post('/auth/refresh', { refreshToken: token })).status).to.equal(401)
    })

    it('is a token as a Basic password, which only Git may send', async () => {
      const { token } = await issue()
      const authorization = `Basic ${Buffer.from(`ann:${token}`).toString('base64')}`
      expect(await client(grove).get('/auth/me', { authorization })).to.deep.equal(badToken)
    })
  })
})
