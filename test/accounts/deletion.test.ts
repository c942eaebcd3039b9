/** A person deletes their account: what goes, what stays, and that it does not come back. */

import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { findActiveProfile } from '../../index/credentials/accounts.ts'
import { removeDeletedMembers } from '../../server/domain/accounts/deletion.ts'
import { personOf } from '../../server/domain/accounts/user-view.ts'
import { operator } from '../../server/domain/actor.ts'
import { changeOrg } from '../../server/domain/orgs/org-changes.ts'
import { createOrg } from '../../server/domain/orgs/orgs.ts'
import { cli, resetTokens } from '../operator/desk.ts'
import { newDataDir } from '../support/data-folder.ts'
import { gitIn } from '../support/git.ts'
import { startGrove } from '../support/grove.ts'
import { expecting, newNode } from '../support/node.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

const noOrg = { status: 404, body: { detail: 'Organisation not found', code: 'org_not_found' } }

describe('a deleted account', () => {
  const { grove } = useWorld({})
  let ann: PersonClient
  let bob: PersonClient
  beforeEach(async () => {
    ann = await signUp(grove, `Ann ${randomUUID()}`)
    bob = await signUp(grove, `Bob ${randomUUID()}`)
  })

  const leave = (who = bob, secret = password) => who.delete('/auth/me', {}, { password: secret })
  const invite = (who = bob, role = 'editor') =>
    ann.put(`/orgs/${ann.org}/members/${who.user.email}`, { role }).then(expecting(200))

  it('leaves its organisations, and moves those without other members to the trash', async () => {
    await invite()
    const node = await newNode(grove, { ...bob, org: ann.org })
    const { token } = (await bob.post('/auth/tokens', { name: 'Laptop', access: 'write' }).then(expecting(201))).body
    const { body } = await leave().then(expecting(200))
    expect([body.left, body.trashed]).to.deep.equal([
      [{ id: ann.org, name: ann.user.name }],
      [{ id: bob.org, name: bob.user.name }],
    ])
    for (const who of [bob, client(grove, token)]) expect((await who.get('/auth/me')).status).to.equal(401)
    const login = { email: bob.user.email, password }
    expect((await client(grove).post('/auth/login', login)).body.code).to.equal('invalid_credentials')
    expect((await ann.get(`/orgs/${ann.org}/members`)).body.total).to.equal(1)
    const files = gitIn(grove, ann.org, 'org').lines('ls-tree', '--name-only', 'main')
    expect(files, 'keeps no address of a user who cannot come back').to.deep.equal(['members', 'org.json'])
    const [commit] = (await ann.get(`${node.at}/tree/main/commits`).then(expecting(200))).body.history
    expect(commit, 'what Git has stays').to.include({ author: bob.user.name, author_email: bob.user.email })
  })

  it('does not give its memberships to who signs up with the address next', async () => {
    await invite()
    await leave().then(expecting(200))
    const { body } = await client(grove).post('/auth/signup', { email: bob.user.email, password }).then(expecting(201))
    expect(body.user.id).to.not.equal(bob.user.id)
    expect(await client(grove, body.accessToken).get(`/orgs/${ann.org}`)).to.deep.equal(noOrg)
    expect(await client(grove, body.accessToken).get(`/orgs/${bob.org}`)).to.deep.equal(noOrg)
  })

  it('needs the password, and nothing has changed without it', async () => {
    expect(await leave(bob, 'not this one')).to.deep.equal({
      status: 401,
      body: { detail: 'The password is wrong', code: 'invalid_credentials' },
    })
    expect((await bob.delete('/auth/me')).status).to.equal(422)
    await bob.get(`/orgs/${bob.org}`).then(expecting(200))
  })

  it('is refused if an organisation would have no owner: the response names it, and nothing changes', async () => {
    await invite(bob)
    const other = (await ann.post('/orgs', { name: 'Other' }).then(expecting(201))).body.id
    expect(await leave(ann)).to.deep.equal({
      status: 409,
      body: {
        detail: `${ann.user.name} would have no owner; make another member an owner first`,
        code: 'last_owner',
        orgs: [{ id: ann.org, name: ann.user.name }],
      },
    })
    await ann.get(`/orgs/${other}`).then(expecting(200))
    await invite(bob, 'owner')
    await leave(ann).then(expecting(200))
    await bob.get(`/orgs/${ann.org}`).then(expecting(200))
  })

  it('takes all who leave at the same time, or those that leave an owner behind', async () => {
    await invite(bob, 'owner')
    const statuses = (await Promise.all([leave(ann), leave(bob)])).map(({ status }) => status)
    expect(statuses).to.include(200)
    const left = statuses.indexOf(409)
    if (left >= 0) await [ann, bob][left]?.get(`/orgs/${ann.org}`).then(expecting(200))
  })

  it('is removed from what its open requests commit: as the only member, among members, and as the last owner', async () => {
    const profile = await findActiveProfile(grove.deps.credentials.read, bob.user.id)
    if (profile === undefined) throw new Error('The account is gone')
    const late = personOf(profile)
    await leave().then(expecting(200))
    const alone = await createOrg({ ...grove.deps, actor: late }, { body: { name: 'Alone' } })
    const shared = await createOrg({ ...grove.deps, actor: late }, { body: { name: 'Shared' } })
    await changeOrg(grove.deps, operator, { org_id: shared.id }, 'member', (record) => {
      const { email, name } = ann.user
      const file = { email, name, role: 'editor' as const, created_at: new Date().toISOString() }
      return { ...record, members: new Map([...record.members, [ann.user.id, file]]) }
    })
    await removeDeletedMembers(grove.deps)
    expect((await ann.get(`/orgs/${shared.id}/members`).then(expecting(200))).body.members).to.have.length(1)
    expect(await ann.get(`/orgs/${alone.id}`)).to.deep.equal(noOrg)
    expect((await readdir(grove.dataDir)).includes(alone.id)).to.equal(false)
  })

  it.deep('does not return with a backup, or with mirrors next to these credentials', async () => {
    await invite()
    await leave().then(expecting(200))
    const [backup, restored] = [await newDataDir(), await newDataDir()]
    expect((await cli(grove.dataDir, 'backup', join(backup, 'copy'))).code).to.equal(0)
    const said = await cli(restored, 'restore', join(backup, 'copy'))
    expect([said.code, [...resetTokens(said.stdout).keys()]]).to.deep.equal([0, []])
    const again = await startGrove({ dataDir: restored })
    try {
      const login = { email: bob.user.email, password }
      expect((await client(again).post('/auth/login', login)).body.code).to.equal('invalid_credentials')
      const annAgain = client(again, ann.session.accessToken)
      expect((await annAgain.get(`/orgs/${ann.org}/members`).then(expecting(200))).body.total).to.equal(1)
    } finally {
      await again.close()
    }
  })
})
