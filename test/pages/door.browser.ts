/** The door of browsers: when a cookie speaks for its person, and how it begins and ends. */

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { pageAt, withoutWords } from '../support/pages.ts'
import { client, password, signUp } from '../support/people.ts'
import { ann, grove, newVisitor, signIn, useScene } from './scene.ts'

type Headers = Readonly<Record<string, string>>

const fields = (values: Record<string, string>) => new URLSearchParams(values).toString()
const urlencoded = { 'content-type': 'application/x-www-form-urlencoded' }
const ours = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }
const formOfOurs = { ...urlencoded, 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' }

const ask = (path: string, headers: Headers) => client(grove).get(path, headers)

describe('the door of browsers', () => {
  useScene()

  /** The cookie of a browser that has just signed in. */
  async function cookieOf(headers: Headers = {}): Promise<string> {
    const sent = fields({ email: ann.user.email, password })
    const answer = await client(grove).post('/sign-in', sent, { ...formOfOurs, ...headers })
    expect(answer.status).to.equal(303)
    return answer.headers['set-cookie']?.split(';')[0] ?? ''
  }

  it('gives a cookie that no script reads and no other site sends with its own requests', async () => {
    const sent = fields({ email: ann.user.email, password, next: '/o/x?y=1' })
    const { status, headers } = await client(grove).post('/sign-in', sent, formOfOurs)
    expect([status, headers.location]).to.deep.equal([303, '/o/x?y=1'])
    expect(headers['set-cookie']).to.match(
      /^grove=grv_browser_[\w-]{43}; Max-Age=15552000; Path=\/; .*HttpOnly; SameSite=Lax$/,
    )
  })

  it('leads nowhere but to a path of its own', async () => {
    for (const next of [
      'https://evil.example/',
      '//evil.example',
      '/\\evil.example',
      'javascript:alert(1)',
      '/\n/evil.example',
      '',
    ]) {
      const sent = fields({ email: ann.user.email, password, next })
      const { headers } = await client(grove).post('/sign-in', sent, formOfOurs)
      expect(headers.location, next).to.equal('/')
    }
  })

  for (const { what, path, headers, status } of [
    { what: 'a fetch by a page of ours', path: '/auth/me', headers: ours, status: 200 },
    {
      what: 'a picture of a page of ours',
      path: '/auth/me',
      headers: { ...ours, 'sec-fetch-mode': 'no-cors' },
      status: 200,
    },
    {
      what: 'a fetch by another port',
      path: '/auth/me',
      headers: { ...ours, 'sec-fetch-site': 'same-site' },
      status: 401,
    },
    {
      what: 'a fetch by another site',
      path: '/auth/me',
      headers: { ...ours, 'sec-fetch-site': 'cross-site' },
      status: 401,
    },
    {
      what: 'an address typed by hand',
      path: '/auth/me',
      headers: { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' },
      status: 401,
    },
    {
      what: 'a link of another site to an operation',
      path: '/auth/me',
      headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
      status: 401,
    },
    { what: 'no header at all', path: '/auth/me', headers: {}, status: 401 },
    {
      what: 'the origin of another, from an old browser',
      path: '/auth/me',
      headers: { origin: 'http://evil.example' },
      status: 401,
    },
    { what: 'the origin null', path: '/auth/me', headers: { origin: 'null' }, status: 401 },
  ] as const) {
    it(`lets ${status === 200 ? 'in' : 'nobody in for'} ${what}`, async () => {
      expect((await ask(path, { ...headers, cookie: await cookieOf() })).status).to.equal(status)
    })
  }

  it('lets in our own origin from an old browser, for operations', async () => {
    const cookie = await cookieOf()
    expect((await ask('/auth/me', { cookie, origin: grove.url })).status).to.equal(200)
  })

  it('shows a page to who follows a link from anywhere', async () => {
    const cookie = await cookieOf()
    const page = `${pageAt(ann.org)}/find`
    for (const site of ['none', 'cross-site', 'same-origin'])
      expect((await ask(page, { cookie, 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate' })).status).to.equal(200)
    expect((await ask(page, { cookie, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' })).status).to.equal(401)
  })

  it('takes no form of another site, not even to sign in', async () => {
    for (const headers of [
      {},
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'null' },
    ])
      for (const path of ['/sign-in', '/sign-up', '/sign-out', '/reset']) {
        const { status, headers: got } = await client(grove).post(path, fields({}), { ...urlencoded, ...headers })
        expect([status, got['set-cookie']], path).to.deep.equal([403, undefined])
      }
  })

  it('goes by the token if there is one', async () => {
    const bob = await signUp(grove, 'Bob')
    const authorization = `Bearer ${bob.session.accessToken}`
    const { body } = await ask('/auth/me', { ...ours, cookie: await cookieOf(), authorization })
    expect(body.name).to.equal('Bob')
  })

  it('says again what is wrong with a form', async () => {
    const wrong = await client(grove).post('/sign-in', fields({ email: ann.user.email, password: 'wrong' }), formOfOurs)
    expect(wrong.status).to.equal(403)
    expect(wrong.body).to.include('Wrong e-mail address or password').and.include(`value="${ann.user.email}"`)
    const short = await client(grove).post(
      '/sign-up',
      fields({ email: 'x@example.org', password: 'short' }),
      formOfOurs,
    )
    expect(short.status).to.equal(422)
    expect(short.body).to.include('This is too short. Enter at least 8 characters.')
    const taken = await client(grove).post('/sign-up', fields({ email: ann.user.email, password }), formOfOurs)
    expect(taken.status).to.equal(409)
  })

  it('ends with the session: by signing out, from elsewhere, with a new password', async () => {
    const cookie = await cookieOf()
    const out = await client(grove).post('/sign-out', '', { ...formOfOurs, cookie })
    expect(out.status).to.equal(303)
    expect(out.headers['set-cookie']).to.match(/^grove=; Path=\/; Expires=Thu, 01 Jan 1970/)
    expect((await ask('/auth/me', { ...ours, cookie })).status).to.equal(401)

    const other = await cookieOf()
    const { body } = await ask('/auth/sessions', { ...ours, cookie: other })
    const [current] = body.sessions.filter((session: { current: boolean }) => session.current)
    expect((await ann.delete(`/auth/sessions/${current.id}`)).status).to.equal(204)
    const gone = await ask('/', {
      accept: 'text/html',
      cookie: other,
      'sec-fetch-mode': 'navigate',
      'sec-fetch-site': 'none',
    })
    expect(gone.status).to.equal(200)
    expect(gone.body).to.include('Sign in')
    expect(gone.headers['set-cookie']).to.match(/^grove=;/)
  })

  it('keeps only a hash of the secret', async () => {
    const secret = (await cookieOf()).slice('grove='.length)
    const rows = await grove.deps.credentials.read.selectFrom('session').selectAll().execute()
    expect(JSON.stringify(rows)).not.to.include(secret)
  })

  it('stays shut to a page of another port, in a browser', async () => {
    const visitor = await newVisitor()
    await signIn(visitor)
    const elsewhere: Server = createServer((_req, res) =>
      res.setHeader('content-type', 'text/html').end('<p>elsewhere'),
    )
    await new Promise<void>((done) => elsewhere.listen(0, '127.0.0.1', done))
    const { port } = elsewhere.address() as AddressInfo
    const page = await visitor.context.newPage()
    await page.goto(`http://127.0.0.1:${port}/`)
    const status = await page.evaluate(
      `fetch('${grove.url}/auth/me', { credentials: 'include', mode: 'no-cors' }).then((answer) => answer.status)`,
    )
    expect(status).to.equal(0)
    const seen = page.waitForResponse(`${grove.url}/sign-out`)
    await page.evaluate(
      `document.body.innerHTML = '<form method="post" action="${grove.url}/sign-out"></form>'; document.forms[0].submit()`,
    )
    expect((await seen).status()).to.equal(403)
    await visitor.open('/')
    await visitor.page.getByLabel('Signed in as Ann').waitFor()
    expect(await visitor.page.evaluate('document.cookie')).to.equal('')
    await new Promise((done) => elsewhere.close(done))
    await visitor.context.close()
  })

  it('leads back to the page that asked to sign in', async () => {
    const visitor = await newVisitor()
    const { page } = visitor
    expect(await visitor.open(pageAt(ann.org))).to.deep.equal({ status: 401 })
    await page.getByLabel('E-mail').fill(ann.user.email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(({ href }) => withoutWords(href) === grove.url + pageAt(ann.org))
    await page.getByLabel('Signed in as Ann').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(`${grove.url}/`)
    expect(await visitor.open(pageAt(ann.org))).to.deep.equal({ status: 401 })
    expect(visitor.faults).to.deep.equal([])
    await visitor.context.close()
  })
})
