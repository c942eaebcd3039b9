/** Accounts change while one of their organisations is closed, because it needs a newer version. */
import { expect } from 'chai'
import { closeOrg, openOrg } from '../support/closed-orgs.ts'
import { expecting } from '../support/node.ts'
import { client, password } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('an account of a closed organisation', () => {
  const { grove, ann, bob, cy, pass } = useWorld({ ann: 'owner', bob: 'editor', cy: 'reader' }, { clock: true })

  const close = (org: string) => closeOrg(grove, org, ['areas'])
  /** The members once the background job has run. */
  const membersLater = async () => {
    await openOrg(grove, ann.org)
    pass(600)
    await grove.settled()
    const { members } = (await (await fresh(ann)).get(`/orgs/${ann.org}/members`).then(expecting(200))).body
    return members.map(({ name, email }: { name: string; email: string }) => [name, email])
  }
  /** The user in a new session. Tokens of the one before have expired. */
  const fresh = async ({ user: { email } }: typeof ann) =>
    client(grove, (await client(grove).post('/auth/login', { email, password }).then(expecting(200))).body.accessToken)
  const leave = async (who: typeof ann) => (await fresh(who)).delete('/auth/me', {}, { password })

  it('is not deleted if it is its only owner', async () => {
    await close(ann.org)
    const { status, body } = await leave(ann)
    expect([status, body.code, body.orgs.map(({ id }: { id: string }) => id)]).to.deep.equal([
      409,
      'last_owner',
      [ann.org],
    ])
    await openOrg(grove, ann.org)
    await ann.get('/auth/me').then(expecting(200))
  })

  it('has its new name and its hidden address there once it is open again', async () => {
    await close(ann.org)
    await bob.patch('/auth/me', { name: 'Robert', hide_email: true }).then(expecting(200))
    pass(600)
    await grove.settled()
    const [, robert] = await membersLater()
    expect(robert).to.deep.equal(['Robert', `${bob.user.id}@users.noreply.invalid`])
  })

  it('leaves it after days, and takes with it one of which it is the only member', async () => {
    await close(ann.org)
    await close(cy.org)
    const { body } = await leave(cy).then(expecting(200))
    expect([body.left, body.trashed].map((orgs) => orgs.map(({ id }: { id: string }) => id))).to.deep.equal([
      [ann.org],
      [cy.org],
    ])
    pass(3 * 86_400)
    await grove.settled()
    expect((await membersLater()).map(([name]: string[]) => name)).to.deep.equal(['Ann', 'Robert'])
  })
})
