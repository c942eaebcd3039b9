/** Decisions that one writer made once: two processes at the same moment, on either engine. */
import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { insertInvitation } from '../../index/credentials/invitations.ts'
import { findResetAccount } from '../../index/credentials/sessions.ts'
import { listTokenKeys } from '../../index/credentials/token-keys.ts'
import { rotateKeys } from '../../server/domain/accounts/key-rotation.ts'
import { issueResetToken } from '../../server/domain/accounts/sessions.ts'
import { hashOf } from '../../server/domain/accounts/tokens.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type Answer, client, password, signUp } from '../support/people.ts'
import { databaseFor } from '../support/postgres.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'

/** Of either engine as many as found two heirs in each without the row being held. */
const rounds = 100

const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status).sort()

for (const engine of ['SQLite', 'PostgreSQL'] as const)
  describe(`at the same moment, with credentials in ${engine}`, () => {
    let dataDir: string
    let here: Grove
    let there: SpawnedGrove

    before(async () => {
      dataDir = await newDataDir()
      const postgres = engine === 'PostgreSQL' && (await databaseFor(dataDir))
      // Two first starts at once.
      const [first, second] = await Promise.all([
        startGrove({ dataDir, postgres }),
        spawnGrove(dataDir, { DATABASE_URL: postgres === false ? '' : postgres }),
      ])
      here = first
      there = second
    })
    after(async () => {
      await there?.stop()
      await here?.close()
      if (dataDir !== undefined) await rm(dataDir, { recursive: true })
    })

    it('two first starts agree on one key', async () => {
      const ann = await signUp(there, 'Ann')
      expect((await client(here, ann.session.accessToken).get('/auth/me')).status).to.equal(200)
      expect(await listTokenKeys(here.deps.credentials.read)).to.have.length(1)
    })

    it('a refresh token has one heir', async () => {
      let { refreshToken } = (await signUp(here, 'Bea')).session
      for (let round = 0; round < rounds; round++) {
        const asked = [here, there, here].map((grove) => client(grove).post('/auth/refresh', { refreshToken }))
        const heirs = new Set((await Promise.all(asked)).map(expecting(200)).map(({ body }) => body.refreshToken))
        expect(heirs.size, `round ${round}`).to.equal(1)
        refreshToken = [...heirs][0]
      }
    })

    it('a user gets 100 tokens of 101', async () => {
      const cyd = await signUp(here, 'Cyd')
      const twins = [here, there].map((grove) => client(grove, cyd.session.accessToken))
      const ask = (count: number) =>
        Promise.all(
          Array.from({ length: count }, (_, n) =>
            (twins[n % 2] ?? cyd).post('/auth/tokens', { name: `${n}`, access: 'read' }),
          ),
        )
      expect(statuses(await ask(98))).to.deep.equal(Array(98).fill(201))
      expect(statuses(await ask(6))).to.deep.equal([201, 201, 409, 409, 409, 409])
    })

    it('an old password is good for one change', async () => {
      const dan = await signUp(here, 'Dan')
      const change = (grove: { readonly url: string }, n: number) =>
        client(grove, dan.session.accessToken).post('/auth/password', {
          old_password: password,
          new_password: `the ${n}th of many words`,
        })
      const answers = await Promise.all([here, there, here, there].map(change))
      expect(statuses(answers).filter((status) => status === 200)).to.have.length(1)
    })

    it('one reset token is left of several', async () => {
      const eve = await signUp(here, 'Eve')
      const issued = await Promise.all([1, 2, 3, 4].map(() => issueResetToken(here.deps, eve.user.id)))
      const { read } = here.deps.credentials
      const good = await Promise.all(
        issued.map(({ reset_token }) => findResetAccount(read, hashOf(reset_token), new Date().toISOString())),
      )
      expect(good.filter((account) => account !== undefined)).to.have.length(1)
    })

    it('two people take one address, and one gets it', async () => {
      const [fay, gus] = [await signUp(here, 'Fay'), await signUp(there, 'Gus')]
      const changes = [fay, gus].map((who) => who.post('/auth/email', { password, new_email: 'one@example.org' }))
      expect(statuses(await Promise.all(changes))).to.deep.equal([200, 409])
      const signUps = [here, there].map((grove) =>
        client(grove).post('/auth/signup', { email: 'two@example.org', password }),
      )
      expect(statuses(await Promise.all(signUps))).to.deep.equal([201, 409])
    })

    it('an organisation has 1,000 open invitations of 1,003', async () => {
      const hal = await signUp(here, 'Hal')
      const open = { role: 'reader' as const, email_key: null, uses_left: 1, created_by: hal.user.id }
      const times = { created_at: new Date().toISOString(), expires_at: '2999-01-01T00:00:00.000Z' }
      await here.deps.credentials.write(async (trx) => {
        for (let n = 0; n < 998; n++)
          await insertInvitation(trx, { id: `made ${n}`, hash: `made ${n}`, org_id: hal.org, ...open, ...times })
      })
      const twins = [here, there].map((grove) => client(grove, hal.session.accessToken))
      const asked = Array.from({ length: 5 }, (_, n) =>
        twins[n % 2]?.post(`/orgs/${hal.org}/invitations`, { role: 'reader' }),
      )
      const answers = (await Promise.all(asked)).filter((answer) => answer !== undefined)
      expect(statuses(answers)).to.deep.equal([201, 201, 409, 409, 409])
    })

    it('of rotated keys one has no end', async () => {
      await Promise.all([1, 2, 3].map(() => rotateKeys(here.deps, { immediately: false })))
      const keys = await listTokenKeys(here.deps.credentials.read)
      expect(keys.filter(({ retired_at }) => retired_at === null)).to.have.length(1)
    })

    it('the service says of a statement in between that it must not be', async () => {
      const { credentials } = here.deps
      const foreign = credentials.write(async (trx) => {
        await listTokenKeys(trx)
        await new Promise((done) => setTimeout(done, 5))
        await listTokenKeys(trx)
      })
      const said = await foreign.catch((error: Error) => error.message)
      expect(said).to.equal('A transaction may await only its own statements')
    })
  })
