/** A clock that is set back, or forward, opens nothing for longer. */

import { expect } from 'chai'
import { client, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

const minute = 60_000
const day = 24 * 60 * minute

describe('a clock that steps', () => {
  const { grove } = useWorld({}, { now: () => new Date(time) })
  let time = new Date('2026-03-01T00:00:00Z').getTime()

  const refresh = (refreshToken: string) => client(grove).post('/auth/refresh', { refreshToken })
  const me = (token: string) => client(grove, token).get('/auth/me')

  it('back does not make a used refresh token good again: it ends its session', async () => {
    const { session } = await signUp(grove, 'Ann')
    const second = (await refresh(session.refreshToken)).body
    time -= day
    expect((await refresh(session.refreshToken)).status).to.equal(401)
    expect((await refresh(second.refreshToken)).status).to.equal(401)
  })

  it('forward does not either', async () => {
    const { session } = await signUp(grove, 'Bob')
    const second = (await refresh(session.refreshToken)).body
    time += day
    expect((await refresh(session.refreshToken)).status).to.equal(401)
    expect((await refresh(second.refreshToken)).status).to.equal(401)
  })

  it('back ends no session of who has used nothing twice', async () => {
    const { session } = await signUp(grove, 'Cleo')
    time -= day
    const { status, body } = await refresh(session.refreshToken)
    expect(status).to.equal(200)
    expect((await me(body.accessToken)).status).to.equal(200)
  })

  it('back by little, as clocks are set, costs nobody anything', async () => {
    const { session } = await signUp(grove, 'Dora')
    const second = (await refresh(session.refreshToken)).body
    time -= 20_000
    const again = await refresh(session.refreshToken)
    expect([again.status, again.body.refreshToken]).to.deep.equal([200, second.refreshToken])
    expect((await me(second.accessToken)).status).to.equal(200)
  })

  it('back makes no access token live longer: tokens from the future are invalid', async () => {
    const { session } = await signUp(grove, 'Edna')
    expect((await me(session.accessToken)).status).to.equal(200)
    time -= day
    expect((await me(session.accessToken)).body.code).to.equal('invalid_token')
    time += day
    expect((await me(session.accessToken)).status, 'at its own time').to.equal(200)
  })
})
