/** Two services on one data folder, as two processes are: one renewal many times at once, and an end under load. */

import { expect } from 'chai'
import { here, there, useTwoServices } from '../accounts/two-services.ts'
import { connectProgram, renew } from '../support/connector.ts'
import { client, signUp } from '../support/people.ts'

describe('connections at two services', () => {
  useTwoServices()

  it('have one heir when a token is renewed 20 times at once', async () => {
    const ann = await signUp(here, 'Ann')
    const { program, refreshToken } = await connectProgram(here, ann)
    const elsewhere = { ...program, grove: there }
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, at) => renew(at % 2 === 0 ? program : elsewhere, refreshToken)),
    )
    expect(all.map(({ status }) => status)).to.deep.equal(all.map(() => 200))
    expect(new Set(all.map(({ body }) => body.refresh_token)).size).to.equal(1)
    expect((await renew(program, all[0]?.body.refresh_token)).status).to.equal(200)
  })

  it('end under load: no request that begins afterwards succeeds', async () => {
    const bob = await signUp(here, 'Bob')
    const one = await connectProgram(here, bob)
    const [one1, one2] = [client(here, one.token), client(there, one.token)]
    let isEnded = false
    let late = 0
    const load = Array.from({ length: 8 }, async (_, at) => {
      for (let n = 0; n < 30; n++) {
        const wasEnded = isEnded
        const { status } = await (at % 2 === 0 ? one1 : one2).get('/orgs')
        expect(status).to.be.oneOf(wasEnded ? [401] : [200, 401])
        if (wasEnded) late++
      }
    })
    await one.get('/orgs')
    expect((await bob.delete(`/auth/connections/${one.id}`)).status).to.equal(204)
    isEnded = true
    await Promise.all(load)
    expect((await one2.get('/orgs')).status).to.equal(401)
    expect(late).to.be.greaterThan(0)
  })
})
