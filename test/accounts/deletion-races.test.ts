/** An account, or an organisation, is deleted while another process changes who is in it. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { findActiveProfile } from '../../index/credentials/accounts.ts'
import { AppError } from '../../server/base/errors.ts'
import { removeAccount, removeDeletedMembers } from '../../server/domain/accounts/deletion.ts'
import { personOf } from '../../server/domain/accounts/user-view.ts'
import { operator, type Person } from '../../server/domain/actor.ts'
import { putMember } from '../../server/domain/orgs/members.ts'
import { changeOrg } from '../../server/domain/orgs/org-changes.ts'
import { createOrg } from '../../server/domain/orgs/orgs.ts'
import type { Services } from '../../server/domain/services.ts'
import { newGate } from '../support/gate.ts'
import type { Grove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type Client, client, type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { dataDir, here, there, useTwoServices } from './two-services.ts'

describe('while an account, or an organisation, is deleted', () => {
  let count = 0
  let ann: PersonClient
  let bob: PersonClient
  let dan: Client
  /** Of Ann and Bob, both owners. */
  let shared: string

  useTwoServices({ sweeps: false })
  beforeEach(async () => {
    count++
    ;[ann, bob] = [await signUp(here, `Ann ${count}`), await signUp(here, `Bob ${count}`)]
    dan = client(there, (await signUp(there, `Dan ${count}`)).session.accessToken)
    shared = await newShared('Shared')
  })

  /** An organisation of Ann's with another owner, so that she leaves it. */
  async function newShared(name: string): Promise<string> {
    const { id } = (await ann.post('/orgs', { name }).then(expecting(201))).body
    await ann.put(`/orgs/${id}/members/${bob.user.email}`, { role: 'owner' }).then(expecting(200))
    return id
  }
  const accept = (token: string) => dan.post('/auth/invitations/accept', { token }).then(expecting(200))
  const invitation = async (role: string) =>
    (await ann.post(`/orgs/${ann.org}/invitations`, { role }).then(expecting(201))).body.token

  async function personNamed(id: string): Promise<Person> {
    const profile = await findActiveProfile(here.deps.credentials.read, id)
    if (profile === undefined) throw new Error('The account is gone')
    return personOf(profile)
  }
  const deleteAnn = async (deps: Services) =>
    removeAccount({ ...deps, actor: await personNamed(ann.user.id) }, ann.user.id)

  /** Does `meanwhile` once `work` has left its first organisation, and before it looks at the next. */
  async function during<R>(work: (deps: Services) => Promise<R>, meanwhile: () => Promise<unknown>): Promise<R> {
    const { index } = here.deps
    const gate = newGate()
    let isHeld = false
    const write: typeof index.write = async (change) => {
      isHeld = true
      await gate.opened
      return index.write(change)
    }
    const working = work({ ...here.deps, index: { read: index.read, write, close: () => index.close() } })
    let hasFailed = false
    working.catch(() => {
      hasFailed = true
    })
    try {
      await until(() => isHeld || hasFailed)
      await meanwhile()
    } finally {
      gate.open()
    }
    return working
  }

  it('an organisation that somebody has joined as an owner continues with them', async () => {
    const token = await invitation('owner')
    const { left, trashed } = await during(deleteAnn, () => accept(token))
    expect([left.map(({ id }) => id), trashed]).to.deep.equal([[shared, ann.org], []])
    expect((await dan.get(`/orgs/${ann.org}`).then(expecting(200))).body.role).to.equal('owner')
    expect((await dan.get(`/orgs/${ann.org}/members`).then(expecting(200))).body.total).to.equal(1)
  })

  it('an organisation that somebody has joined without becoming an owner refuses it, and says what had ended', async () => {
    const token = await invitation('editor')
    const error: unknown = await during(deleteAnn, () => accept(token)).catch((reason: unknown) => reason)
    if (!(error instanceof AppError)) throw new Error(`Not refused: ${JSON.stringify(error)}`)
    const advice = `${ann.user.name} would have no owner; make another member an owner first`
    expect([error.code, error.message, error.facts]).to.deep.equal([
      'last_owner',
      `${advice}. These memberships have already ended: Shared`,
      {
        orgs: [{ id: ann.org, name: ann.user.name }],
        left: [{ id: shared, name: 'Shared' }],
        trashed: [],
      },
    ])
    await dan.get(`/orgs/${ann.org}`).then(expecting(200))
    await ann.get('/auth/me').then(expecting(200))
  })

  it('an organisation that its other members have left goes to the trash', async () => {
    const second = await newShared('Second')
    const { trashed } = await during(deleteAnn, () =>
      client(there, bob.session.accessToken).delete(`/orgs/${second}/members/${bob.user.email}`).then(expecting(204)),
    )
    expect(trashed.map(({ id }) => id)).to.deep.equal([second, ann.org])
  })

  it('an organisation that the account creates during its deletion is also kept if somebody has joined it', async () => {
    const late = await personNamed(ann.user.id)
    await deleteAnn(here.deps)
    const first = await createOrg({ ...here.deps, actor: late }, { body: { name: 'First' } })
    const alone = await createOrg({ ...here.deps, actor: late }, { body: { name: 'Alone' } })
    const add = ({ deps }: Grove, orgId: string) =>
      putMember(
        { ...deps, actor: operator },
        { path: { org_id: orgId, email: bob.user.email }, body: { role: 'owner' } },
      )
    await add(here, first.id)
    await during(removeDeletedMembers, () => add(there, alone.id))
    expect((await bob.get(`/orgs/${alone.id}/members`).then(expecting(200))).body.total).to.equal(1)
  })

  it('an owner who is demoted before they have the lock deletes no organisation', async () => {
    const gate = newGate()
    let isLocked = false
    const demoted = changeOrg(there.deps, operator, { org_id: shared }, 'member', async (record) => {
      isLocked = true
      await gate.opened
      const members = [...record.members].map(([id, file]) =>
        id === ann.user.id ? ([id, { ...file, role: 'reader' as const }] as const) : ([id, file] as const),
      )
      return { ...record, members: new Map(members) }
    })
    await until(() => isLocked)
    let isAnswered = false
    const asked = ann.delete(`/orgs/${shared}`).finally(() => {
      isAnswered = true
    })
    await until(() => isAnswered || isAnnounced(dataDir, shared))
    gate.open()
    await demoted
    expect((await asked).body).to.deep.equal({ detail: 'You need the owner role', code: 'forbidden' })
    await bob.get(`/orgs/${shared}`).then(expecting(200))
  })
})

/** Whether a transaction says that it makes or removes the organisation. */
function isAnnounced(dataDir: string, orgId: string): boolean {
  const run = join(dataDir, 'run')
  try {
    const tokens = readdirSync(run, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('/token'))
    return tokens.some((name) => readFileSync(join(run, name), 'utf8').includes(`"note":"${orgId}/"`))
  } catch {
    // A transaction has ended during the look.
    return false
  }
}
