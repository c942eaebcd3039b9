/** Two providers of one service: no answer of one counts as an answer of the other. */

import { expect } from 'chai'
import type { JWTPayload } from 'jose'
import { startGrove } from '../support/grove.ts'
import { useWorld } from '../support/world.ts'
import { type Liar, settings, startLiar } from './liar.ts'
import { problemIn } from './scene.ts'
import { type Seen, Visitor } from './visitor.ts'

const failed = { status: 400, code: 'sign_in_failed' }

describe('two providers', () => {
  const liars: Record<'acme' | 'bell', Liar> = {} as Record<'acme' | 'bell', Liar> // filled before the tests
  const { grove } = useWorld({}, async () => {
    for (const id of ['acme', 'bell'] as const) liars[id] = await startLiar()
    return { oidc: (['acme', 'bell'] as const).map((id) => settings({ id, name: id, issuer: liars[id].issuer })) }
  })
  after(async () => {
    for (const liar of Object.values(liars)) await liar.close()
  })
  afterEach(() => Object.assign(liars.acme, { metadata: {} }))

  const claims = (name: string) => ({ sub: name, email: `${name}@example.org`, email_verified: true, name })
  const begin = (visitor: Visitor, id: string) => visitor.ask(`${grove.url}/sign-in/oidc/${id}`, { isOurs: true })

  /** Comes back to the callback of a provider, with the state and code of what was begun. */
  function comeBack(
    visitor: Visitor,
    id: 'acme' | 'bell',
    { headers: { location = '' } }: Seen,
    { said, more = {} }: { readonly said: JWTPayload; readonly more?: Readonly<Record<string, string>> },
  ): Promise<Seen> {
    const sent = new URL(location).searchParams
    for (const liar of Object.values(liars)) liar.claims = said
    const answer = new URLSearchParams({ code: sent.get('nonce') ?? '', state: sent.get('state') ?? '', ...more })
    return visitor.ask(`${grove.url}/sign-in/oidc/${id}/callback?${answer}`)
  }

  it('have callbacks of their own: the answer of one is refused at that of the other, and then used up', async () => {
    const visitor = new Visitor(grove)
    const begun = await begin(visitor, 'acme')
    expect(new URL(begun.headers.location ?? '').searchParams.get('redirect_uri')).to.match(/\/acme\/callback$/)
    const asked = liars.bell.asked.length
    expect(problemIn(await comeBack(visitor, 'bell', begun, { said: claims('ann') }))).to.deep.equal(failed)
    expect(liars.bell.asked.slice(asked), 'no code of Acme is sent to Bell').to.deep.equal([])
    expect(problemIn(await comeBack(visitor, 'acme', begun, { said: claims('ann') }))).to.deep.equal(failed)
    expect((await visitor.api('/auth/me')).status).to.equal(401)
  })

  it.deep(
    'name themselves: an answer with the issuer of the other is refused, and its code is sent to nobody',
    async () => {
      for (const [metadata, iss, isFine] of [
        [{}, liars.bell.issuer, false],
        [{ authorization_response_iss_parameter_supported: true }, liars.bell.issuer, false],
        [{ authorization_response_iss_parameter_supported: true }, undefined, false],
        [{ authorization_response_iss_parameter_supported: true }, liars.acme.issuer, true],
      ] as const) {
        // Each row is a service that has not read the document of the provider yet.
        const other = await startGrove({ oidc: [settings({ issuer: liars.acme.issuer })] })
        Object.assign(liars.acme, { metadata, claims: claims('bob') })
        const visitor = new Visitor(other)
        const { headers } = await visitor.ask(`${other.url}/sign-in/oidc/acme`, { isOurs: true })
        const sent = new URL(headers.location ?? '').searchParams
        const answer = { code: sent.get('nonce') ?? '', state: sent.get('state') ?? '', ...(iss && { iss }) }
        const asked = liars.acme.asked.length
        const seen = await visitor.ask(`${other.url}/sign-in/oidc/acme/callback?${new URLSearchParams(answer)}`)
        await other.close()
        if (isFine) expect(seen.status).to.equal(303)
        else expect(problemIn(seen), JSON.stringify({ metadata, iss })).to.deep.equal(failed)
        expect(liars.acme.asked.slice(asked).includes('/token')).to.equal(isFine)
      }
    },
  )

  it('refuse an ID token of the other, also with its key', async () => {
    const visitor = new Visitor(grove)
    const begun = await begin(visitor, 'acme')
    const said = { ...claims('cleo'), iss: liars.bell.issuer }
    expect(problemIn(await comeBack(visitor, 'acme', begun, { said }))).to.deep.equal(failed)
  })

  it('have users of their own: one subject at both is two accounts', async () => {
    const ids = []
    for (const id of ['acme', 'bell'] as const) {
      const visitor = new Visitor(grove)
      const said = { ...claims('dora'), email: `dora@${id}.example` }
      expect((await comeBack(visitor, id, await begin(visitor, id), { said })).status).to.equal(303)
      ids.push((await visitor.api('/auth/me')).body.id)
    }
    expect(ids[0]).not.to.equal(ids[1])
  })
})
