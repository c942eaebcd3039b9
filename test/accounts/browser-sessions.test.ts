/** How long a browser's cookie goes on: by its use, and in all. */

import { expect } from 'chai'
import { issueResetToken } from '../../server/domain/accounts/sessions.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const day = 24 * 3_600_000
const ours = { 'sec-fetch-site': 'same-origin' }

describe('a session of a browser', () => {
  const { grove, ann } = useWorld({ ann: 'owner' }, { now: () => new Date(time) })
  let time = Date.parse('2026-01-01T00:00:00Z')

  const resetToken = async ({ user }: PersonClient) => (await issueResetToken(grove.deps, user.id)).reset_token

  async function cookie(who: PersonClient = ann): Promise<string> {
    const form = new URLSearchParams({ email: who.user.email, password }).toString()
    const headers = { ...ours, 'content-type': 'application/x-www-form-urlencoded' }
    const { headers: got } = await client(grove).post('/sign-in', form, headers)
    return got['set-cookie']?.split(';')[0] ?? ''
  }
  const status = async (sent: string) => (await client(grove).get('/auth/me', { ...ours, cookie: sent })).status

  /** Uses the cookie, and waits until that is written. */
  async function use(sent: string): Promise<void> {
    expect(await status(sent)).to.equal(200)
    const now = new Date(time).toISOString()
    const { read } = grove.deps.credentials
    await until(async () => {
      const used = await read.selectFrom('session').select('id').where('last_used_at', '=', now).executeTakeFirst()
      return used !== undefined
    })
  }

  it('ends 30 days after its last use', async () => {
    const sent = await cookie()
    time += 29 * day
    await use(sent)
    time += 29 * day
    await use(sent)
    time += 31 * day
    expect(await status(sent)).to.equal(401)
  })

  it('ends 180 days after it began, however much it is used', async () => {
    const sent = await cookie()
    for (let spent = 25; spent < 180; spent += 25) {
      time += 25 * day
      await use(sent)
    }
    time += 6 * day
    expect(await status(sent)).to.equal(401)
  })

  for (const [what, path, fields] of [
    ['a sign-in', '/sign-in', () => ({ email: ann.user.email, password })],
    ['a sign-up', '/sign-up', () => ({ email: `new.${time}@example.org`, password, name: 'New' })],
    ['a reset', '/reset', async () => ({ reset_token: await resetToken(ann), new_password: password })],
  ] as const)
    it(`ends with ${what} by the form in the same browser, whoever it is of`, async () => {
      const bob = await signUp(grove, `Bob ${what}`)
      const [former, elsewhere] = [await cookie(bob), await cookie(bob)]
      const form = new URLSearchParams(await fields()).toString()
      const sent = { ...ours, 'content-type': 'application/x-www-form-urlencoded', cookie: former }
      const { status: answered, headers } = await client(grove).post(path, form, sent)
      expect(answered).to.equal(303)
      const statuses = [headers['set-cookie']?.split(';')[0] ?? '', former, elsewhere].map(status)
      expect(await Promise.all(statuses)).to.deep.equal([200, 401, 200])
    })

  it('outlives the refresh token with which it began, and a login elsewhere', async () => {
    const sent = await cookie()
    time += 29 * day
    await use(sent)
    time += 29 * day
    const { body } = await client(grove).post('/auth/login', { email: ann.user.email, password })
    const listed = await client(grove, body.accessToken).get('/auth/sessions')
    expect(listed.body.sessions).to.have.length(2)
    expect(await status(sent)).to.equal(200)
  })
})
