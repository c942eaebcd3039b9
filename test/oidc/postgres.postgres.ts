/** Sign-ins through a provider, with accounts in PostgreSQL. */

import { expect } from 'chai'
import { type Scene, startScene } from './scene.ts'

describe('sign-ins through a provider, with PostgreSQL', () => {
  let scene: Scene

  before(async () => {
    scene = await startScene({ linksByEmail: true }, { postgres: true })
  })
  after(() => scene.close())

  it('give one account to a user who arrives in several browsers', async () => {
    const claims = { sub: 'ann', email: 'ann@acme.example', email_verified: true, name: 'Ann' }
    const visitors = [1, 2, 3].map(() => scene.newVisitor())
    for (const visitor of visitors) expect((await scene.pass(visitor, claims)).status).to.equal(303)
    const ids = await Promise.all(visitors.map(async (visitor) => (await visitor.api('/auth/me')).body.id))
    expect(new Set(ids).size).to.equal(1)
    const { sessions } = (await visitors[0]?.api('/auth/sessions'))?.body ?? {}
    expect(sessions.map(({ provider }: { provider: string }) => provider)).to.deep.equal(['acme', 'acme', 'acme'])
  })
})
