/** How a client goes on when its access token ends. */
import { expect } from 'chai'
import { grove as clientOf, NotSignedIn, type Tokens } from '../../spec/client/client.ts'
import { password } from '../support/people.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'
import { thrownBy } from './scene.ts'

describe('the session of a client', () => {
  const { grove, ann } = useWorld({ ann: 'owner' }, { now: () => new Date(time) })
  let time = new Date('2026-01-01T00:00:00Z').getTime()
  let asked: string[]
  let answered: number
  /** Runs before a renewal is sent. */
  let beforeRenewal: () => Promise<void>
  let kept: Tokens[]

  beforeEach(() => {
    asked = []
    answered = 0
    beforeRenewal = async () => {}
    kept = []
  })

  const logIn = async () => {
    const { url } = grove
    const tokens = await clientOf({ url }).logIn({ body: { email: ann.user.email, password } })
    return clientOf({
      url,
      tokens,
      onTokens: (fresh) => kept.push(fresh),
      fetch: async (address, init) => {
        asked.push(`${init?.method} ${new URL(String(address)).pathname}`)
        if (asked.at(-1) === renewal) await beforeRenewal()
        const answer = await fetch(address, init)
        answered++
        return answer
      },
    })
  }
  const end = () => {
    time += 24 * 3_600_000
  }
  const renewal = 'POST /auth/refresh'
  const renewals = () => asked.filter((one) => one === renewal)

  it('is renewed once for all calls that wait, and these are sent again', async () => {
    const g = await logIn()
    end()
    const [me, orgs, made] = await Promise.all([g.getMe(), g.listOrgs(), g.createOrg({ body: { name: 'Atlas' } })])
    expect([me.email, orgs.orgs.length > 0, made.name]).to.deep.equal([ann.user.email, true, 'Atlas'])
    expect(renewals()).to.have.length(1)
    expect(kept).to.have.length(1)
    asked = []
    await g.getMe()
    expect(asked).to.deep.equal(['GET /auth/me'])
    end()
    await g.getMe()
    expect(kept).to.have.length(2)
  })

  it('continues in the one that a new password opens', async () => {
    const g = await logIn()
    const session = await g.changePassword({ body: { old_password: password, new_password: password } })
    expect(kept).to.deep.equal([session])
    expect((await g.getMe()).email).to.equal(ann.user.email)
    expect(renewals()).to.deep.equal([])
  })

  it('that has ended is 401 to all that wait', async () => {
    const g = await logIn()
    const { sessions } = await g.listSessions()
    const current = sessions.find(({ current }) => current)
    await g.endSession({ path: { session_id: current?.id ?? '' } })
    asked = []
    answered = 0
    // A call that is refused after the renewal has failed begins another.
    beforeRenewal = () => until(() => answered === 2)
    const errors = await Promise.all([thrownBy(g.getMe()), thrownBy(g.listOrgs())])
    for (const error of errors) expect(error).to.be.an.instanceOf(NotSignedIn).and.to.include({ code: 'invalid_token' })
    expect(renewals()).to.have.length(1)
    expect(kept).to.deep.equal([])
  })

  it('is not renewed for a wrong password, nor is a personal access token', async () => {
    const g = await logIn()
    const wrong = await thrownBy(g.changePassword({ body: { old_password: 'wrong', new_password: password } }))
    expect(wrong).to.include({ status: 401, code: 'invalid_credentials' })
    const bad = clientOf({ url: grove.url, token: 'grv_bad' })
    expect(await thrownBy(bad.getMe())).to.include({ code: 'invalid_token' })
    expect(renewals()).to.deep.equal([])
  })

  it('lets go of a call that is ended while it is renewed', async () => {
    const { url } = grove
    const controller = new AbortController()
    const whole = new AbortController()
    const tokens = await clientOf({ url }).logIn({ body: { email: ann.user.email, password } })
    end()
    const g = clientOf({
      url,
      tokens,
      fetch: (address, init) => {
        if (!String(address).endsWith('/auth/refresh')) return fetch(address, init)
        controller.abort()
        return new Promise((_, fail) => init?.signal?.addEventListener('abort', () => fail(new Error('Ended'))))
      },
      signal: whole.signal,
    })
    expect(await thrownBy(g.getMe({ signal: controller.signal }))).to.include({ name: 'AbortError' })
    whole.abort()
  })
})
