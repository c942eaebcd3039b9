/** Lists of one's organisations in all cells, which follow Git. */
import { expect } from 'chai'
import fc from 'fast-check'
import { sql } from 'kysely'
import { credentialsMigrations } from '../../index/credentials/migrations.ts'
import { deleteCard, deleteCardMembers, listCardsOf, listOrgsElsewhere } from '../../index/credentials/org-cards.ts'
import { listOrgsOf } from '../../index/derived/org-queries.ts'
import { updateAccount } from '../../server/domain/accounts/administration.ts'
import { removeDeletedMembers } from '../../server/domain/accounts/deletion.ts'
import { updateMembersBehind } from '../../server/domain/accounts/member-profiles.ts'
import { completeMemberships } from '../../server/domain/accounts/memberships.ts'
import { operator } from '../../server/domain/actor.ts'
import { indexOrg } from '../../server/domain/indexing/index-node.ts'
import { closeOrg, openOrg } from '../support/closed-orgs.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, password, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { here, listedAt, placeOf, signIn, there, useCells } from './scene.ts'

const all = { limit: 200, offset: 0 }

describe('the list of one’s organisations', () => {
  let ann: PersonClient
  let bob: PersonClient
  let annThere: PersonClient
  let bobThere: PersonClient

  // What the background jobs do is done here, when it is meant to be.
  useCells({ sweeps: false, logLevel: 'error' })
  before(async () => {
    ann = await signUp(here, 'Ann')
    bob = await signUp(there, 'Bob')
    annThere = await signIn(there, ann)
    bobThere = bob
  })

  const put = (org: string, who: PersonClient, role: string) =>
    ann.put(`/orgs/${org}/members/${who.user.email}`, { role })
  const remove = (org: string, who: PersonClient, by = ann) => by.delete(`/orgs/${org}/members/${who.user.email}`)
  const idsOf = (orgs: { id: string }[]) => orgs.map(({ id }) => id)

  it('is the same at each cell, and the same as the index of the cell', async () => {
    const { id } = (await ann.post('/orgs', { name: 'Atlas', description: 'Maps' }).then(expecting(201))).body
    await put(id, bob, 'editor').then(expecting(200))
    const seen = await listedAt(bobThere)
    expect(seen.find((org: { id: string }) => org.id === id)).to.include({
      name: 'Atlas',
      description: 'Maps',
      role: 'editor',
      published: false,
    })
    expect(await listedAt(annThere)).to.deep.equal(await listedAt(ann))
  })

  it('has those of contributors again, whom an older version left out of the cards', async () => {
    const { id } = (await ann.post('/orgs', { name: 'Reef' }).then(expecting(201))).body
    await put(id, bob, 'contributor').then(expecting(200))
    await here.deps.credentials.write((trx) => deleteCardMembers(trx, id, [bob.user.id]))
    expect(idsOf(await listedAt(bobThere))).to.not.include(id)
    await here.deps.credentials.write(
      (trx) => credentialsMigrations['023_cards_again']?.up(trx) ?? Promise.reject(new Error('No migration')),
    )
    await indexOrg(here.deps, id)
    expect(idsOf(await listedAt(bobThere))).to.include(id)
  })

  it('lacks one that needs a newer version, until it is open again', async () => {
    const { id } = (await ann.post('/orgs', { name: 'Trench' }).then(expecting(201))).body
    await put(id, bob, 'editor').then(expecting(200))
    const before = (await listedAt(bobThere)).find((org: { id: string }) => org.id === id)
    await closeOrg(here, id, ['areas'])
    await indexOrg(here.deps, id)
    for (const who of [bobThere, annThere, ann]) expect(idsOf(await listedAt(who))).to.not.include(id)
    const { status, body } = await ann.get(`/orgs/${id}`)
    expect([status, body.code]).to.deep.equal([503, 'org_needs_newer_version'])
    const owned = await listOrgsElsewhere(here.deps.credentials.read, 'there', ann.user.id)
    expect(owned.find((org) => org.id === id)).to.deep.include({ role: 'owner', others: 1, other_owners: 0 })
    await openOrg(here, id)
    const { updated_at: _, ...again } = (await listedAt(bobThere)).find((org: { id: string }) => org.id === id)
    expect(before).to.deep.include(again)
  })

  it('has the own one again after a sign-in, if the directory did not hear of it', async () => {
    await here.deps.credentials.write((trx) => deleteCard(trx, ann.org))
    expect(idsOf(await listedAt(ann))).to.not.include(ann.org)
    await signIn(here, ann)
    expect(idsOf(await listedAt(annThere))).to.include(ann.org)
  })

  it('of an administrator has those of all cells, and the nodes of those that are here', async () => {
    await updateAccount(
      { ...here.deps, actor: operator },
      { path: { account_id: ann.user.id }, body: { is_admin: true } },
    )
    await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Krill' }).then(expecting(201))
    const lists = await Promise.all(
      [ann, annThere].map(async (asked) => (await asked.get('/admin/orgs?limit=200').then(expecting(200))).body),
    )
    const of = (at: 0 | 1, org: string) => lists[at].orgs.find(({ id }: { id: string }) => id === org)
    expect(idsOf(lists[0].orgs)).to.include.members([ann.org, bob.org]).and.to.deep.equal(idsOf(lists[1].orgs))
    expect(lists.map(({ total }) => total)).to.deep.equal(lists.map(({ orgs }) => orgs.length))
    expect([of(0, ann.org).nodes, of(1, ann.org).nodes, of(0, bob.org).nodes]).to.deep.equal([1, undefined, undefined])
    const { id: user_id, email, name } = bob.user
    const { members, owners, published } = of(0, bob.org)
    expect({ members, owners, published }).to.deep.equal({
      members: 1,
      owners: [{ user_id, email, name }],
      published: false,
    })
    const [first] = lists[0].orgs
    expect((await ann.get('/admin/orgs?limit=1').then(expecting(200))).body.orgs).to.deep.equal([first])
    const { body } = await ann.get(`/admin/orgs?offset=${lists[0].total}`).then(expecting(200))
    expect(body.orgs).to.deep.equal([])
  })

  it('follows whatever changes, by the index as oracle', async () => {
    const change = fc.oneof(
      fc.record({ name: fc.constantFrom('Atlas', 'Ökologie', 'zebra', 'Äpfel') }),
      fc.record({
        ...{ published: fc.boolean(), embeddings: fc.constantFrom(true, false, null) },
        description: fc.constantFrom('', 'Maps', 'Größe'),
      }),
      fc.record({ role: fc.constantFrom('reader', 'contributor', 'editor', 'maintainer', 'owner') }),
      fc.constant({ gone: true }),
    )
    const orgs: string[] = []
    for (const name of ['One', 'Two']) orgs.push((await ann.post('/orgs', { name }).then(expecting(201))).body.id)
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...orgs), change, async (org, what) => {
        if ('gone' in what) await remove(org, bob)
        else if ('role' in what) await put(org, bob, what.role).then(expecting(200))
        else await ann.patch(`/orgs/${org}`, what).then(expecting(200))
        for (const { user } of [ann, bob]) {
          const { rows } = await listOrgsOf(here.deps.index.read, user.id, all)
          const cards = (await listCardsOf(there.deps.credentials.read, user.id, all)).rows
          const known = cards.filter(({ id }) => rows.some((row) => row.id === id))
          expect(known).to.deep.equal(rows)
          expect(cards.length - known.length, 'of the other cell').to.equal(user.id === bob.user.id ? 1 : 0)
        }
      }),
      { numRuns: 25, seed: 15 },
    )
  })

  it('that cannot be written answers 503 to who leaves, is removed or unpublishes; then it is', async () => {
    const { id } = (await ann.post('/orgs', { name: 'Rest', published: true }).then(expecting(201))).body
    await put(id, bob, 'owner').then(expecting(200))
    const rename = (from: string, to: string) =>
      here.deps.credentials.write((trx) => trx.schema.alterTable(from).renameTo(to).execute())
    await rename('org_card', 'org_card_away')
    for (const ask of [() => remove(id, bob), () => ann.patch(`/orgs/${id}`, { published: false })]) {
      const { status, body } = await ask()
      expect([status, body.code]).to.deep.equal([503, 'outcome_unknown'])
    }
    await rename('org_card_away', 'org_card')
    expect(idsOf(await listedAt(bobThere)), 'before the sweep').to.include(id)
    await indexOrg(here.deps, id)
    expect(idsOf(await listedAt(bobThere))).to.not.include(id)
    expect((await listedAt(annThere)).find((org: { id: string }) => org.id === id).published).to.equal(false)
  })

  it('has soon one that was made while the directory failed, and knows where it is, without a sweep', async () => {
    const run = (...statements: string[]) =>
      here.deps.credentials.write(async (trx) => {
        for (const statement of statements) await sql.raw(statement).execute(trx)
      })
    await run(
      "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$",
      "create trigger refuse before update on place for each row when (new.state = 'here') execute function refuse()",
    )
    const { status, body } = await ann.post('/orgs', { name: 'Late' })
    expect([status, body.code]).to.deep.equal([503, 'outcome_unknown'])
    await run('drop trigger refuse on place', 'drop function refuse()')
    const late = async () => (await listedAt(annThere)).find(({ name }: { name: string }) => name === 'Late')
    await until(
      async () => (await placeOf((await late())?.id ?? ann.org))?.state === 'here' && (await late()) !== undefined,
    )
    const { id } = await late()
    expect(await placeOf(id)).to.include({ cell: 'here', state: 'here' })
    await ann.delete(`/orgs/${id}`).then(expecting(204))
  })

  it('has no organisation that was deleted', async () => {
    const { id } = (await ann.post('/orgs', { name: 'Short' }).then(expecting(201))).body
    expect(idsOf(await listedAt(annThere))).to.include(id)
    await ann.delete(`/orgs/${id}`).then(expecting(204))
    expect(idsOf(await listedAt(annThere))).to.not.include(id)
  })

  it('gets an organisation by an invitation that was taken at another cell', async () => {
    const made = await ann.post(`/orgs/${ann.org}/invitations`, { role: 'editor', uses: 2 }).then(expecting(201))
    const { token } = made.body
    const joined = { id: ann.org, name: 'Ann', role: 'editor' }
    for (let again = 0; again < 2; again++)
      expect((await bobThere.post('/auth/invitations/accept', { token }).then(expecting(200))).body).to.deep.include(
        joined,
      )
    const email = 'ivy@example.org'
    await signUpWith(there.url, { email, name: 'Ivy', password, invitation: token })
    await completeMemberships(there.deps)
    await completeMemberships(here.deps)
    const { members } = (await ann.get(`/orgs/${ann.org}/members`).then(expecting(200))).body
    expect(members.map(({ name, role }: { name: string; role: string }) => [name, role])).to.deep.equal([
      ['Ann', 'owner'],
      ['Bob', 'editor'],
      ['Ivy', 'editor'],
    ])
    expect(idsOf(await listedAt(bobThere))).to.include(ann.org)
  })

  it('does not keep a name that was changed at another cell', async () => {
    await bobThere.patch('/auth/me', { name: 'Robert' }).then(expecting(200))
    // Each cell sees to its own; the last of them finishes.
    await updateMembersBehind(there.deps)
    await updateMembersBehind(here.deps)
    const { members } = (await ann.get(`/orgs/${ann.org}/members`).then(expecting(200))).body
    expect(members.map(({ name }: { name: string }) => name)).to.include('Robert')
    const account = await here.deps.credentials.read
      .selectFrom('account')
      .select('members_behind')
      .where('id', '=', bob.user.id)
      .executeTakeFirstOrThrow()
    expect(account.members_behind).to.equal(0)
  })

  it('lets nobody go who is the last owner of one in another cell, and takes out who goes', async () => {
    const { id } = (await bobThere.post('/orgs', { name: 'Bridge' }).then(expecting(201))).body
    await bobThere.put(`/orgs/${id}/members/${ann.user.email}`, { role: 'reader' }).then(expecting(200))
    const bobHere = await signIn(here, bob)
    const refused = await bobHere.delete('/auth/me', {}, { password })
    expect([refused.status, refused.body.code, refused.body.orgs]).to.deep.equal([
      409,
      'last_owner',
      [{ id, name: 'Bridge' }],
    ])
    await bobThere.put(`/orgs/${id}/members/${ann.user.email}`, { role: 'owner' }).then(expecting(200))
    const { body } = await bobHere.delete('/auth/me', {}, { password }).then(expecting(200))
    expect(idsOf(body.left)).to.include.members([ann.org, id])
    expect(idsOf(body.trashed)).to.deep.equal([bob.org])
    // A cell that was away for days finds it too.
    await here.deps.credentials.write((trx) =>
      trx.updateTable('deleted_account').set({ deleted_at: '2000-01-01T00:00:00.000Z' }).execute(),
    )
    await removeDeletedMembers(there.deps)
    const { members } = (await annThere.get(`/orgs/${id}/members`).then(expecting(200))).body
    expect(members).to.have.length(1)
  })
})

async function signUpWith(url: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const { status } = await fetch(`${url}/auth/signup`, { method: 'POST', headers, body: JSON.stringify(body) })
  expect(status).to.equal(201)
}
