/** Signing in through a real provider, as a browser without script does it. */

import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { newDataDir } from '../support/data-folder.ts'
import { useWorld } from '../support/world.ts'
import { settings } from './liar.ts'
import { passReal, type RealProvider, startRealProvider } from './real-provider.ts'
import { Visitor } from './visitor.ts'

describe('a sign-in through a real provider', () => {
  let provider: RealProvider
  let now = Date.now()

  const { grove } = useWorld({}, async () => {
    provider = await startRealProvider(() => [`${grove.url}/sign-in/oidc/acme/callback`])
    const oidc = [settings({ issuer: provider.issuer, require: { claim: 'groups', values: ['grove'] } })]
    return { oidc, now: () => new Date(now) }
  })
  before(() => {
    for (const login of ['ann', 'bob', 'cleo']) provider.users.set(login, { groups: ['staff', 'grove'] })
  })
  after(() => provider.stop())

  async function signIn(login: string, path = '/sign-in') {
    const visitor = new Visitor(grove)
    const { html } = await visitor.open(path)
    const link = /href="(\/sign-in\/oidc\/acme[^"]*)"/.exec(html)?.[1] ?? ''
    const arrived = await passReal(visitor, await visitor.open(link.replaceAll('&amp;', '&'), { isOurs: true }), login)
    return { visitor, arrived }
  }

  it('begins at a link of the sign-in page, and ends where the user wanted to go', async () => {
    const { visitor, arrived } = await signIn('ann', '/sign-in?next=%2Fme%2Ftokens')
    expect({ status: arrived.status, url: arrived.url }).to.deep.equal({ status: 200, url: `${grove.url}/me/tokens` })
    expect((await visitor.api('/auth/me')).body).to.include({ email: 'ann@acme.example', name: 'ann' })
    // The secrets of the exchange are gone.
    expect(visitor.cookies()).to.deep.equal(['grove'])
  })

  it('finds the same account in another browser', async () => {
    const ids = []
    for (const _ of [1, 2]) ids.push((await (await signIn('bob')).visitor.api('/auth/me')).body.id)
    expect(ids[0]).to.equal(ids[1])
  })

  it('is refused without the group that the operator demands', async () => {
    const { arrived } = await signIn('stranger')
    expect(arrived.status).to.equal(403)
    expect(arrived.html).to.include('provider_refused')
  })

  it('is refused if the user says no at the provider', async () => {
    const visitor = new Visitor(grove)
    const login = await visitor.open('/sign-in/oidc/acme')
    const abort = /href="([^"]*\/abort)"/.exec(login.html)?.[1] ?? ''
    const refused = await visitor.open(new URL(abort, login.url).href)
    expect(refused.status).to.equal(403)
    expect(refused.html).to.include('access_denied')
  })

  it('ends here, and offers to end there', async () => {
    const { visitor } = await signIn('ann')
    const out = await visitor.send('/sign-out', {})
    expect(out.html)
      .to.include('Also sign out of Acme')
      .and.to.include(`${provider.issuer}/session/end?client_id=grove`)
    expect((await visitor.api('/auth/me')).status).to.equal(401)
    const { visitor: bySign } = await signIn('ann')
    expect((await bySign.api('/auth/me')).status).to.equal(200)
  })

  it('confirms a session by a new login, and only as the same user', async () => {
    const { visitor } = await signIn('cleo')
    const removal = () => visitor.api('/auth/me', 'DELETE', {})
    expect((await removal()).body.code).to.equal('confirmation_required')
    const confirm = () => visitor.open('/sign-in/oidc/acme?purpose=confirm&next=%2Fme%2Fprofile', { isOurs: true })
    const other = await passReal(visitor, await confirm(), 'ann')
    expect(other.status).to.equal(403)
    expect((await removal()).body.code).to.equal('confirmation_required')
    const page = await confirm()
    expect(page.html, 'the provider asks again').to.include('name="prompt" value="login"')
    const confirmed = await passReal(visitor, page, 'cleo')
    expect(confirmed.url).to.equal(`${grove.url}/me/profile`)
    now += 11 * 60_000
    expect((await removal()).body.code).to.equal('confirmation_required')
    now -= 11 * 60_000
    expect((await removal()).status).to.equal(200)
  })

  it('says when the provider is away, keeps sessions, and works again', async () => {
    const { visitor } = await signIn('ann')
    await provider.stop()
    now += 25 * 3_600_000
    const { status, html } = await new Visitor(grove).open('/sign-in/oidc/acme')
    expect(status).to.equal(503)
    expect(html).to.include('provider_unavailable')
    expect((await visitor.api('/auth/me')).status).to.equal(200)
    await provider.start()
    expect((await new Visitor(grove).open('/sign-in/oidc/acme')).status, 'one try in 10 seconds').to.equal(503)
    now += 11_000
    expect((await signIn('ann')).arrived.status).to.equal(200)
  })
})

describe('a provider that refuses the client secret', () => {
  let provider: RealProvider
  let dataDir: string

  const { grove } = useWorld({}, async () => {
    provider = await startRealProvider(() => [`${grove.url}/sign-in/oidc/acme/callback`])
    return { oidc: [settings({ issuer: provider.issuer, clientSecret: 'another' })], logLevel: 'error' }
  })
  before(async () => {
    dataDir = await newDataDir()
  })
  after(async () => {
    await provider.stop()
    await rm(dataDir, { recursive: true })
  })

  it('is named on the page and in the log', async () => {
    const visitor = new Visitor(grove)
    const arrived = await passReal(visitor, await visitor.open('/sign-in/oidc/acme', { isOurs: true }), 'ann')
    expect(arrived.status).to.equal(400)
    expect(arrived.html).to.contain('Acme refuses the client id or the client secret of this service')
    expect(grove.logged()).to.contain('the provider refuses the client id or the client secret')
    expect(grove.logged()).not.to.contain('another')
  })

  it('is found by the check of the configuration', async () => {
    const check = async (secret: string) => {
      const acme = { OIDC_ACME_ISSUER: provider.issuer, OIDC_ACME_CLIENT_ID: 'grove', OIDC_ACME_CLIENT_SECRET: secret }
      const environment = { ...process.env, DATA_DIR: dataDir, PUBLIC_URL: grove.url, ...acme }
      const { code, stdout } = await runCommand(['config', 'check', '--online'], environment)
      return { code, isFound: stdout.includes('OIDC_ACME_CLIENT_SECRET: the provider refuses them') }
    }
    expect(await check('another')).to.deep.equal({ code: 1, isFound: true })
    expect(await check('a secret of the provider')).to.deep.equal({ code: 0, isFound: false })
  })
})
