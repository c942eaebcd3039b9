/** Consent in a browser without script: the program gets its answer, and can lead the browser further. */

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { ann, grove, newVisitor, signIn, useScene, type Visitor } from '../pages/scene.ts'
import { exchange, type Program, register } from '../support/connector.ts'

describe('consent in a browser without script', () => {
  useScene()
  let visitor: Visitor
  let server: Server
  let program: Program
  let answered: Promise<URL>

  /** A program on this computer. It answers by leading the browser to its private scheme, as hosted ones do. */
  beforeEach(async () => {
    let tell: (url: URL) => void = () => {}
    answered = new Promise((resolve) => {
      tell = resolve
    })
    server = createServer((req, res) => {
      tell(new URL(req.url ?? '', 'http://127.0.0.1'))
      res.writeHead(302, { location: 'robin://done' }).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    program = await register(grove, { redirect: `http://127.0.0.1:${port}/callback` })
    visitor = await newVisitor({ javaScriptEnabled: false })
  })
  afterEach(async () => {
    await visitor.context.close()
    server.close()
    server.closeAllConnections()
  })

  const path = () => `/oauth/authorize?${new URLSearchParams(program.request)}`

  /** Presses the button. Resolves with the URL to which the program then leads. */
  async function press(name: string): Promise<string> {
    const further = visitor.page.waitForRequest(/^robin:/)
    await visitor.page.getByRole('button', { name, exact: true }).click()
    return (await further).url()
  }

  it('signs in first, and then leads to the program and to its private scheme', async () => {
    await visitor.open(path())
    await visitor.page.getByLabel('E-mail').fill(ann.user.email)
    await visitor.page.getByLabel('Password').fill('correct horse battery')
    await visitor.page.getByRole('button', { name: 'Sign in' }).click()
    await visitor.page.getByRole('heading', { name: 'A program on this computer' }).waitFor()
    const html = await visitor.page.content()
    expect(html.length).to.be.lessThan(10_240)
    expect(html).not.to.contain('<script')
    expect(await press('Allow')).to.equal('robin://done')
    const code = (await answered).searchParams.get('code') ?? ''
    expect((await exchange(program, code)).body.scope).to.equal('read propose')
  })

  it('leads to the program after a refusal', async () => {
    await signIn(visitor)
    await visitor.open(path())
    expect(await press('Deny')).to.equal('robin://done')
    expect((await answered).searchParams.get('error')).to.equal('access_denied')
  })
})
