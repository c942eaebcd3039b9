/** Two services on one data folder, as two processes are: a new user of a provider arrives at both at once. */

import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { type Liar, settings, startLiar } from './liar.ts'
import { begin, comeBack } from './scene.ts'
import { Visitor } from './visitor.ts'

describe('a new user of a provider at two services at once', () => {
  let liar: Liar
  let dataDir: string
  let services: readonly Grove[]

  before(async () => {
    liar = await startLiar()
    dataDir = await newDataDir()
    const oidc = [settings({ issuer: liar.issuer, linksByEmail: true })]
    services = [await startGrove({ dataDir, oidc }), await startGrove({ dataDir, oidc })]
  })
  after(async () => {
    for (const grove of services) await grove.close()
    await liar.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  /** Arrives in several browsers, half of them at each service. Returns the ids of the accounts. */
  async function arrive(claims: object, browsers: number): Promise<Set<string>> {
    const begun = await Promise.all(
      Array.from({ length: browsers }, async (_, at) => {
        const grove = services[at % services.length] as Grove // there are services
        const visitor = new Visitor(grove)
        return { grove, visitor, seen: await begin(grove, visitor) }
      }),
    )
    const arrived = await Promise.all(
      begun.map(async ({ grove, visitor, seen }) => {
        const { status } = await comeBack(grove, liar, visitor, seen, { ...claims })
        return { status, id: (await visitor.api('/auth/me')).body.id as string }
      }),
    )
    expect(arrived.map(({ status }) => status)).to.deep.equal(begun.map(() => 303))
    return new Set(arrived.map(({ id }) => id))
  }

  for (let round = 1; round <= 5; round++)
    it(`gets one account and one identity, round ${round}`, async () => {
      const name = `ann${round}`
      const claims = { sub: name, email: `${name}@acme.example`, email_verified: true, name }
      const ids = await arrive(claims, 6)
      expect(ids.size).to.equal(1)
      const [first] = services
      const visitor = new Visitor(first as Grove) // there are services
      await comeBack(first as Grove, liar, visitor, await begin(first as Grove, visitor), claims)
      const { identities } = (await visitor.api('/auth/identities')).body
      expect(identities).to.have.length(1)
      const orgs = (await visitor.api('/orgs')).body
      expect(orgs.total, 'one personal organisation').to.equal(1)
    })
})
