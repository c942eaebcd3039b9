/** Failed sign-ins slow down the address that they come from, and no other caller. */

import { expect } from 'chai'
import type { Attempt, Counter, Limit, LimitSignIn, NewCounter } from '../../server/base/counters.ts'
import { AppError, RateLimitedError } from '../../server/base/errors.ts'
import { issueResetToken } from '../../server/domain/accounts/sessions.ts'
import { limitedSignIns } from '../../server/domain/accounts/sign-ins.ts'
import { from, guess, login, startBehindProxy } from '../support/behind-proxy.ts'
import type { Grove } from '../support/grove.ts'
import { hashesOf } from '../support/hashes.ts'
import { client, password, signUp } from '../support/people.ts'

const day = 24 * 3600 * 1000

describe('sign-in limits', () => {
  let grove: Grove
  let time = new Date('2026-01-01T00:00:00Z').getTime()
  before(async () => {
    grove = await startBehindProxy({ now: () => new Date(time) })
  })
  after(() => grove.close())

  /** An account that was signed up for at `address`. */
  const join = async (name: string, address: string) => {
    const body = { email: `${name}@example.org`, password }
    const answer = await client(grove).post('/auth/signup', body, from(address))
    expect(answer.status).to.equal(201)
    return answer.body
  }

  it('do not let guesses from elsewhere keep the owner out', async () => {
    await join('ann', '10.1.0.1')
    expect(await guess(grove, '10.1.9.1', 'ann@example.org', 11)).to.deep.equal([...Array(10).fill(401), 429])
    expect((await login(grove, '10.1.9.2', 'ann@example.org')).status, 'a stranger with the password').to.equal(429)
    expect((await login(grove, '10.1.0.1', 'ann@example.org')).status, 'the owner').to.equal(200)
  })

  it('say which, and when to come again', async () => {
    await guess(grove, '10.2.9.1', 'nobody@example.org', 10)
    const answer = await login(grove, '10.2.9.2', 'nobody@example.org')
    expect(answer).to.deep.equal({
      status: 429,
      body: { detail: 'Too many failed sign-ins to this account; try again in 60 seconds', code: 'rate_limited' },
    })
    expect(answer.headers).to.include({
      'retry-after': '60',
      ratelimit: '"sign-in";r=0;t=60',
      'ratelimit-policy': '"sign-in";q=10;w=60',
    })
  })

  it('do not count what succeeds, one after the other or together', async () => {
    await join('bob', '10.3.0.1')
    for (const address of ['10.3.0.1', '10.3.0.2']) {
      for (let turn = 0; turn < 12; turn++)
        expect((await login(grove, address, 'bob@example.org')).status).to.equal(200)
    }
    const together = await Promise.all(Array.from({ length: 16 }, () => login(grove, '10.3.0.3', 'bob@example.org')))
    expect(together.map(({ status }) => status)).to.deep.equal(Array(16).fill(200))
  })

  it('count guesses that come together as those that come one after the other', async () => {
    await join('cleo', '10.4.0.1')
    const answers = await Promise.all(
      Array.from({ length: 18 }, (_, n) => login(grove, `10.4.9.${n}`, 'cleo@example.org', 'a wrong guess')),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 401)).to.have.length(10)
    expect(statuses.filter((status) => status === 429)).to.have.length(8)
  })

  it('also hold for the IP address of the owner', async () => {
    await join('dora', '10.5.0.1')
    expect(await guess(grove, '10.5.0.1', 'dora@example.org', 11)).to.deep.equal([...Array(10).fill(401), 429])
  })

  it('forget an address after thirty days', async () => {
    await join('edna', '10.6.0.1')
    await guess(grove, '10.6.9.1', 'edna@example.org', 11)
    time += 30 * day - 1
    expect((await login(grove, '10.6.0.1', 'edna@example.org')).status).to.equal(200)
    time += 30 * day
    expect((await login(grove, '10.6.0.1', 'edna@example.org')).status).to.equal(429)
  })

  it('know the address from which a session was prolonged', async () => {
    const { refreshToken } = await join('finn', '10.7.0.1')
    await client(grove).post('/auth/refresh', { refreshToken }, from('10.7.0.2'))
    await guess(grove, '10.7.9.1', 'finn@example.org', 11)
    expect((await login(grove, '10.7.0.2', 'finn@example.org')).status).to.equal(200)
  })

  it.deep('take an IPv6 network for one address', async () => {
    const statuses: number[] = []
    for (let n = 0; n < 31; n++) {
      statuses.push(...(await guess(grove, `2001:db8:0:7::${n.toString(16)}`, `v6.${n}@example.org`, 1)))
    }
    expect(statuses).to.deep.equal([...Array(30).fill(401), 429])
    expect(await guess(grove, '2001:db8:0:8::1', 'v6.0@example.org', 1)).to.deep.equal([401])
  })

  describe('of a new password', () => {
    const new_password = 'staple the horse'

    it('count a wrong old one as a failed sign-in', async () => {
      const gus = await join('gus', '10.8.0.1')
      const change = (address: string, old_password: string) =>
        client(grove, gus.accessToken).post('/auth/password', { old_password, new_password }, from(address))
      for (let turn = 0; turn < 10; turn++) expect((await change('10.8.9.1', 'a wrong guess')).status).to.equal(401)
      expect((await change('10.8.9.1', password)).status, 'the thief').to.equal(429)
      expect((await login(grove, '10.8.9.2', 'gus@example.org')).status, 'one count for both').to.equal(429)
      expect((await change('10.8.0.1', password)).status, 'the owner').to.equal(200)
    })

    it('count invented reset tokens by IP address, and do not affect others', async () => {
      const { user } = await join('hal', '10.9.0.1')
      const { reset_token } = await issueResetToken(grove.deps, user.id)
      const reset = (address: string, token: string) =>
        client(grove).post('/auth/password', { reset_token: token, new_password }, from(address))
      for (let turn = 0; turn < 30; turn++) expect((await reset('10.9.9.1', 'grv_reset_nothing')).status).to.equal(401)
      expect((await reset('10.9.9.1', reset_token)).status).to.equal(429)
      expect((await reset('10.9.9.2', reset_token)).status).to.equal(200)
    })

    it('begin no hash for a made-up reset token, and one for a good one', async () => {
      const { user } = await join('ida', '10.10.0.1')
      const { reset_token } = await issueResetToken(grove.deps, user.id)
      const reset = (token: string) => () =>
        client(grove).post('/auth/password', { reset_token: token, new_password }, from('10.10.0.1'))
      expect(await hashesOf(reset('grv_reset_nothing'))).to.equal(0)
      expect(await hashesOf(reset(reset_token))).to.equal(1)
    })
  })
})

describe('a crowd', () => {
  let grove: Grove
  before(async () => {
    grove = await startBehindProxy({ rateLimit: false })
  })
  after(() => grove.close())

  it('of made-up reset tokens keeps nobody from signing in', async () => {
    await signUp(grove, 'Ann')
    const body = { reset_token: 'grv_reset_nothing', new_password: 'correct horse' }
    const crowd = Array.from({ length: 200 }, () => client(grove).post('/auth/password', body))
    const logins = Array.from({ length: 8 }, () => login(grove, '127.0.0.1', 'ann@example.org'))
    expect((await Promise.all(logins)).map(({ status }) => status)).to.deep.equal(Array(8).fill(200))
    expect([...new Set((await Promise.all(crowd)).map(({ status }) => status))]).to.deep.equal([401])
  })

  it.deep('of sign-ups keeps nobody from signing in', async () => {
    const bob = await signUp(grove, 'Bob')
    const crowd = Array.from({ length: 200 }, (_, n) =>
      client(grove).post('/auth/signup', { email: `crowd.${n}@example.org`, password }),
    )
    const logins = Array.from({ length: 8 }, () => login(grove, '127.0.0.1', bob.user.email))
    expect((await Promise.all(logins)).map(({ status }) => status)).to.deep.equal(Array(8).fill(200))
    expect((await Promise.all(crowd)).filter(({ status }) => status === 429)).to.not.have.length(0)
  })
})

describe('the wait after too many failed sign-ins', () => {
  let now: number
  let limit: LimitSignIn
  beforeEach(() => {
    now = 0
    limit = limitedSignIns(countersAt(() => now))
  })

  const stranger: Attempt = { from: '10.0.0.1', account: { key: 'ann', isKnownFrom: false } }
  const wrong = () => Promise.reject(new AppError('invalid_credentials', 'Wrong'))
  const fail = (attempt: Attempt): Promise<unknown> => limit(attempt, wrong).catch((error: unknown) => error)
  /** Fails until there is a limit; how long it says to wait. */
  const waitOf = async (attempt: Attempt): Promise<number> => {
    for (;;) {
      const error = await fail(attempt)
      if (error instanceof RateLimitedError) return error.waitSeconds
    }
  }

  it('doubles each time, to fifteen minutes, and starts over after a day', async () => {
    const waits: number[] = []
    for (let n = 0; n < 6; n++) {
      const wait = await waitOf({ from: '10.0.0.1' })
      waits.push(wait)
      now += wait * 1000
    }
    expect(waits).to.deep.equal([60, 120, 240, 480, 900, 900])
    now += day
    expect(await waitOf({ from: '10.0.0.1' })).to.equal(60)
  })

  it('is shown correctly until it is over', async () => {
    await waitOf(stranger)
    now += 20_000
    expect(await waitOf(stranger)).to.equal(40)
    now += 40_000
    expect(await fail(stranger)).to.not.be.instanceOf(RateLimitedError)
  })

  it('comes after a hundred failures of a day at one account, whatever their pace', async () => {
    let failures = 0
    for (let n = 0; n < 120; n++) {
      const error = await fail({ ...stranger, from: `10.0.${n}.1` })
      if (!(error instanceof RateLimitedError)) failures++
      now += 10_000
    }
    expect(failures).to.equal(100)
    expect(await waitOf(stranger)).to.equal(900)
    now += day
    expect(await fail(stranger)).to.not.be.instanceOf(RateLimitedError)
  })

  it('is not asked of what fails for another reason', async () => {
    const fault = () => Promise.reject(new AppError('storage_full', 'The disk is full'))
    for (let n = 0; n < 50; n++) {
      const error = await limit(stranger, fault).catch((thrown: unknown) => thrown)
      expect(error).to.not.be.instanceOf(RateLimitedError)
    }
  })
})

/** Counts by a clock that the test sets. */
function countersAt(now: () => number): NewCounter {
  return (_id: string, limit: Limit): Counter => {
    const windows = new Map<string, { taken: number; until: number }>()
    const windowOf = (key: string) => {
      const found = windows.get(key)
      if (found !== undefined && found.until > now()) return found
      const fresh = { taken: 0, until: now() + limit.windowSeconds * 1000 }
      windows.set(key, fresh)
      return fresh
    }
    return {
      take: async (key) => {
        const window = windowOf(key)
        window.taken++
        return { limit, taken: window.taken, waitMs: window.until - now() }
      },
      giveBack: async (key) => {
        windowOf(key).taken--
      },
      close: async (key, seconds) => {
        windows.set(key, { taken: 1_000_000, until: now() + seconds * 1000 })
      },
    }
  }
}
