/** Memberships that an invitation has given and a crash, or a fault, has kept from org.git. */

import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { findInvitation } from '../../index/credentials/invitations.ts'
import { insertPendingMembership, listPendingMemberships } from '../../index/credentials/pending-memberships.ts'
import { hashOf } from '../../server/domain/accounts/tokens.ts'
import { made, makeInvitation } from '../support/cast.ts'
import { times } from '../support/concurrency-rules.ts'
import { expectSound, newDataDir } from '../support/data-folder.ts'
import { type Faults, prepareFaults } from '../support/faults.ts'
import { gitIn } from '../support/git.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type Answer, client, type PersonClient, password, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'

const dayMs = 24 * 3600 * 1000

describe('a membership that was given and is not committed', () => {
  let dataDir: string
  let grove: Grove
  let ann: PersonClient
  let bob: PersonClient
  let org: string

  before(async () => {
    dataDir = await newDataDir()
    grove = await startGrove({ dataDir, sweeps: false })
    ann = await signUp(grove, 'Ann')
    bob = await signUp(grove, 'Bob')
  })
  after(async () => {
    await grove.close()
    // A killed process may leave the folder of a finished transaction. The next start removes it.
    grove = await startGrove({ dataDir })
    await expectSound(dataDir)
    await grove.close()
    await rm(dataDir, { recursive: true, force: true })
  })
  beforeEach(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
  })

  const invite = async (fields: object = {}) => (await makeInvitation({ owner: ann, org }, fields)).token
  const pending = () => listPendingMemberships(grove.deps.credentials.read, 100)
  /** As a crash between the two commits leaves it. */
  const leave = (who: PersonClient, invited_by: string | null, role: 'reader' | 'owner' = 'reader') =>
    grove.deps.credentials.write((trx) =>
      insertPendingMembership(trx, {
        account_id: who.user.id,
        org_id: org,
        role,
        invited_by,
        created_at: new Date().toISOString(),
      }),
    )
  const signIn = async (email: string): Promise<Answer> => client(grove).post('/auth/login', { email, password })
  const roleOf = async (who: { get: PersonClient['get'] }) => (await who.get(`/orgs/${org}`)).body.role
  const put = (who: PersonClient, role: string, by = ann) =>
    made(by.put(`/orgs/${org}/members/${who.user.email}`, { role }))
  const subjects = () => gitIn(grove, org, 'org').lines('log', '--format=%s')

  describe('is finished', () => {
    it('when the person signs in', async () => {
      await leave(bob, ann.user.id)
      expect(await roleOf(bob)).to.equal(undefined)
      await signIn('bob@example.org').then(expecting(200))
      expect(await roleOf(bob)).to.equal('reader')
      expect(await pending()).to.deep.equal([])
    })

    it('in the background, also the operator’s', async () => {
      await leave(bob, null, 'owner')
      const sweeping = await startGrove({ dataDir })
      try {
        await sweeping.settled()
        expect(await pending()).to.deep.equal([])
        expect(await roleOf(bob)).to.equal('owner')
      } finally {
        await sweeping.close()
      }
    })

    it('by the request that is repeated, whose only use of the invitation is taken', async () => {
      const token = await invite()
      await made(bob.post('/auth/invitations/accept', { token }))
      await made(ann.delete(`/orgs/${org}/members/${bob.user.email}`))
      await leave(bob, ann.user.id)
      const answer = await bob.post('/auth/invitations/accept', { token })
      expect(answer).to.deep.equal({ status: 200, body: { id: org, name: 'Atlas', role: 'reader' } })
      expect(await pending()).to.deep.equal([])
    })

    it('without a second commit if the first one exists', async () => {
      await put(bob, 'editor')
      await leave(bob, ann.user.id)
      await signIn('bob@example.org').then(expecting(200))
      expect(await roleOf(bob)).to.equal('editor')
      expect(subjects()).to.deep.equal(['member', 'create'])
      expect(await pending()).to.deep.equal([])
    })
  })

  describe('is dropped', () => {
    const expectDropped = async () => {
      await signIn('bob@example.org').then(expecting(200))
      expect(await pending()).to.deep.equal([])
      expect(subjects()).to.not.include('join')
    }

    it('if the user who gave it is no longer an owner', async () => {
      const cleo = await signUp(grove, `Cleo ${randomUUID()}`)
      await put(cleo, 'owner')
      await leave(bob, cleo.user.id)
      await put(cleo, 'reader')
      await expectDropped()
      expect(await roleOf(bob)).to.equal(undefined)
    })

    it('if the organisation is deleted', async () => {
      await leave(bob, ann.user.id)
      await made(ann.delete(`/orgs/${org}`))
      await signIn('bob@example.org').then(expecting(200))
      expect(await pending()).to.deep.equal([])
    })

    it('if an owner has decided about the member since: one who was removed does not come back', async () => {
      await put(bob, 'reader')
      await leave(bob, ann.user.id)
      await made(ann.delete(`/orgs/${org}/members/${bob.user.email}`))
      await expectDropped()
      expect(await roleOf(bob)).to.equal(undefined)
    })

    it('if an owner has decided about the member since: a lower role is not raised again', async () => {
      await put(bob, 'owner')
      await leave(bob, ann.user.id, 'owner')
      await put(bob, 'reader')
      await expectDropped()
      expect(await roleOf(bob)).to.equal('reader')
    })
  })

  it('leaves no invitation behind that has expired', async () => {
    const hash = hashOf(await invite())
    const soon = { expires_at: new Date(Date.now() + 9 * dayMs).toISOString() }
    const kept = hashOf(await invite(soon))
    const sweeping = await startGrove({ dataDir, now: () => new Date(Date.now() + 8 * dayMs) })
    try {
      await sweeping.settled()
      expect(await findInvitation(grove.deps.credentials.read, hash)).to.equal(undefined)
      expect(await findInvitation(grove.deps.credentials.read, kept)).to.include({ uses_left: 1 })
    } finally {
      await sweeping.close()
    }
  })

  it('is given to one of those who accept one use at once, in two processes', async () => {
    const other = await startGrove({ dataDir, sweeps: false })
    try {
      const people = await times(6, (n) => signUp(grove, `Dan ${n} ${randomUUID()}`))
      const doors = people.map((person, at) => (at % 2 ? person : client(other, person.session.accessToken)))
      for (const uses of [1, 1, 1, 3]) {
        org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
        const token = await invite({ uses })
        const answers = await Promise.all(doors.map((door) => door.post('/auth/invitations/accept', { token })))
        const roles = await Promise.all(people.map(roleOf))
        expect(answers.map(({ status }) => status).sort()).to.deep.equal([
          ...Array(uses).fill(200),
          ...Array(6 - uses).fill(404),
        ])
        expect(roles).to.deep.equal(answers.map(({ status }) => (status === 200 ? 'reader' : undefined)))
        expect(subjects()).to.deep.equal([...Array(uses).fill('join'), 'create'])
      }
      expect(await pending()).to.deep.equal([])
    } finally {
      await other.close()
    }
  })

  it('is one, and takes one use, for a user who accepts several times at once', async () => {
    const token = await invite({ uses: 5 })
    const answers = await times(5, () => bob.post('/auth/invitations/accept', { token }))
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(5).fill(200))
    expect((await made(ann.get(`/orgs/${org}/invitations`))).invitations[0].uses_left).to.equal(4)
    expect(subjects()).to.deep.equal(['join', 'create'])
  })

  describe('at a sign-up', () => {
    let faults: Faults
    let suffering: SpawnedGrove
    const environment = () => ({ ...faults.environment, UV_THREADPOOL_SIZE: '1', GROVE_WORKER_SWEEPS: 'no' })

    before(() => {
      faults = prepareFaults()
    })
    after(() => faults.remove())
    afterEach(() => suffering.kill())

    const ask = (email: string, invitation: string, at: { url: string } = suffering) =>
      client(at).post('/auth/signup', { email, password, invitation })
    const newEmail = () => `${randomUUID()}@example.org`

    /** The steps of a sign-up of this organisation, in order. */
    async function stepsOf(): Promise<string[]> {
      const token = await invite()
      await faults.ask(`LOG 0 ${org}`)
      await ask(newEmail(), token).then(expecting(201))
      const steps = await faults.logged()
      await faults.none()
      return steps
    }

    it.deep('survives the death of the process: the account joins when it signs in, or there is none', async () => {
      suffering = await spawnGrove(dataDir, environment())
      const steps = await stepsOf()
      const points = steps.flatMap((_, at) =>
        /sync .*credentials|^rename .*\/run\//.test(steps[at - 1] ?? '') ? [at + 1] : [],
      )
      let found = 0
      for (const point of points) {
        const [token, email] = [await invite(), newEmail()]
        await faults.ask(`KILL ${point} ${org}`)
        await ask(email, token).catch(() => undefined)
        await faults.none()
        await suffering.kill()
        found += (await pending()).length
        const { status, body } = await signIn(email)
        if (status === 401) await ask(email, token, grove).then(expecting(201))
        else expect(await roleOf(client(grove, body.accessToken)), `killed at step ${point}`).to.equal('reader')
        expect((await ask(newEmail(), token, grove)).status, 'the use is taken').to.equal(404)
        expect(await pending()).to.deep.equal([])
        suffering = await spawnGrove(dataDir, environment())
      }
      expect(found).to.be.greaterThan(0)
    })

    it.deep(
      'answers 503 if the storage of org.git fails, says that there is an account, and joins at the sign-in',
      async () => {
        suffering = await spawnGrove(dataDir, environment())
        const steps = await stepsOf()
        const [token, email] = [await invite(), newEmail()]
        await faults.ask(`EIO ${steps.findIndex((step) => step.includes(`${org}/org.git`)) + 1} ${org}`)
        const answer = await ask(email, token)
        await faults.none()
        expect(answer).to.deep.equal({
          status: 503,
          body: {
            detail: 'The account was created, but is not a member yet; sign in to try again',
            code: 'outcome_unknown',
          },
        })
        expect(await pending()).to.have.length(1)
        await suffering.kill()
        const { body } = await signIn(email).then(expecting(200))
        expect(await roleOf(client(grove, body.accessToken))).to.equal('reader')
      },
    )
  })
})
