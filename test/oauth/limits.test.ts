/** The most connections of a user, and how an unused one makes room. */

import { expect } from 'chai'
import { alertIn, mainOf, type Visit, visitOf } from '../pages/forms.ts'
import { allow, exchange, movesTo, type Program, register, renew } from '../support/connector.ts'
import { client } from '../support/people.ts'
import { ann, bob, grove, pass, useScene } from './scene.ts'

const most = 50
const day = 24 * 3_600

describe('the connections of a user', () => {
  useScene()
  let user: Visit
  let program: Program
  const secrets: string[] = []

  before(async () => {
    user = await visitOf(grove, ann)
    program = await register(grove)
  })

  const connect = async () =>
    (await exchange(program, await allow(program, user, {}, { resource: grove.url }))).body.refresh_token as string
  const ask = (by = user) => by.send('/oauth/authorize', { ...program.request, access: 'propose', act: 'allow' })
  const isAlive = async (secret: string) => (await renew(program, secret)).status === 200
  const count = async () =>
    /(\d+) connections? of programs can act for you/.exec(mainOf(await user.open('/me/connections')))?.[1]

  it(`are at most ${most}: the page says so, and nothing is connected`, async () => {
    for (let n = 0; n < most; n++) {
      secrets.push(await connect())
      pass(1)
    }
    const refused = await ask()
    expect({ status: refused.status, says: alertIn(refused) }).to.deep.equal({
      ...{ status: 409, says: 'You have 50 connections; end one that you no longer use.' },
    })
    expect(movesTo(refused)).to.equal(undefined)
    expect(await count()).to.equal(`${most}`)
    expect(movesTo(await ask(await visitOf(grove, bob))), 'another user').not.to.equal(undefined)
  })

  it('have room again when one ends', async () => {
    const token = secrets.pop() ?? ''
    const form = new URLSearchParams({ token, client_id: program.id }).toString()
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await client(grove).post('/oauth/revoke', form, type)).status).to.equal(200)
    secrets.push(await connect())
    expect((await ask()).status).to.equal(409)
  })

  it('lose the one that was unused longest, if that was for 7 days', async () => {
    pass(6 * day)
    const [first = '', second = '', ...others] = secrets
    const { body } = await renew(program, first)
    expect((await client(grove, body.access_token).get('/auth/me')).status).to.equal(200)
    expect((await ask()).status, 'unused for 6 days').to.equal(409)
    pass(day)
    expect((await connect()).slice(0, 10)).to.equal('grv_renew_')
    expect(await count()).to.equal(`${most}`)
    expect(await isAlive(second)).to.equal(false)
    expect(await isAlive(body.refresh_token)).to.equal(true)
    for (const secret of others) expect(await isAlive(secret)).to.equal(true)
  })
})
