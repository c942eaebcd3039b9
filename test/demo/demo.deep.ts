/** The demo: what it has, and that it starts, starts again and begins again. */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { people } from '../../server/demo/people.ts'
import { type Grove, grove } from '../../spec/client/client.ts'
import { grove as command, outcomeOf, runGroveCommand } from '../support/command.ts'
import { endAfterFile, endsWithParent } from '../support/processes.ts'

const dayMs = 86_400_000

interface Demo {
  readonly url: string
  readonly output: string
  stop(): Promise<unknown>
}

describe('grove demo', () => {
  let scratch: string
  let dataDir: string
  let stops: (() => Promise<unknown>)[] = []

  before(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'grove-demo-'))
    dataDir = join(scratch, 'demo')
  })
  afterEach(async () => {
    await Promise.all(stops.map((stop) => stop()))
    stops = []
  })
  after(() => rm(scratch, { recursive: true, force: true }))

  function run(...options: string[]): ChildProcess {
    const env = { ...process.env, DATA_DIR: dataDir, PORT: '0', DATABASE_URL: '' }
    return endAfterFile(spawn(process.execPath, [...endsWithParent, 'dist/cli.js', 'demo', ...options], { env }))
  }

  async function start(...options: string[]): Promise<Demo> {
    const child = run(...options)
    const finished = outcomeOf(child)
    let output = ''
    const url = await new Promise<string>((heard, failed) => {
      child.stdout?.on('data', (chunk) => {
        output += chunk
        const [, base] = /^Open (http:\S+)\/o\/\S+\n$/m.exec(output) ?? []
        if (base !== undefined) heard(base)
      })
      void finished.then(({ code, stderr }) => failed(new Error(`It ended with ${code}: ${stderr}`)))
    })
    const stop = () => {
      child.kill('SIGTERM')
      return finished
    }
    stops.push(stop)
    return { url, output, stop }
  }

  async function signedIn(url: string, user: keyof typeof people): Promise<Grove> {
    const { email, password } = people[user]
    const { accessToken: token } = await grove({ url }).logIn({ body: { email, password } })
    return grove({ url, token })
  }

  async function orgOf(api: Grove): Promise<string> {
    const { orgs } = await api.listOrgs({})
    return orgs.find(({ name }) => name === 'Selkie Point')?.id ?? ''
  }

  it('writes half a year of history by four authors, and says the address last', async () => {
    const demo = await start()
    for (const { email, password } of Object.values(people))
      expect(demo.output).to.match(new RegExp(`${email} +${password}\n`))
    expect(demo.output.trimEnd().split('\n').at(-1)).to.match(/^Open http:\/\/127\.0\.0\.1:\d+\/o\/\S+$/)
    const ann = await signedIn(demo.url, 'ann')
    const path = { org_id: await orgOf(ann) }
    const authors = new Map<string, number>()
    const ages: number[] = []
    const messages: string[] = []
    let pages = 0
    for await (const { id } of ann.each('listNodes', { path })) {
      pages++
      const { history } = await ann.listCommits({ path: { ...path, node_id: id, branch: 'main' } })
      for (const { author, created_at, message } of history) {
        authors.set(author, (authors.get(author) ?? 0) + 1)
        ages.push((Date.now() - Date.parse(created_at)) / dayMs)
        messages.push(message)
      }
    }
    expect(pages).to.equal(65)
    expect([...authors.keys()].sort()).to.deep.equal(['Ann Marlow', 'Ben Okafor', 'Cleo Sand', 'Fathom[bot]'])
    expect(authors.get('Cleo Sand')).to.be.greaterThan(9)
    expect(Math.max(...ages)).to.be.within(180, 183)
    expect(Math.min(...ages)).to.be.within(7, 9)
    expect(new Set(ages.map(Math.floor)).size).to.be.greaterThan(40)
    expect(messages.filter((message) => message.includes('Grove-Via: rest agent:fathom'))).to.have.length(1)
    await demo.stop()
  })

  it('has proposals of every kind, a rule and types, and no link that leads nowhere', async () => {
    const demo = await start()
    const [ann, ben] = await Promise.all([signedIn(demo.url, 'ann'), signedIn(demo.url, 'ben')])
    const path = { org_id: await orgOf(ann) }
    const { pull_requests: pulls } = await ann.listOrgPulls({ path, query: { status: 'all', limit: 100 } })
    const states = pulls.map(({ status }) => status)
    expect(['open', 'closed', 'merged'].map((state) => states.filter((one) => one === state).length)).to.deep.equal([
      2, 1, 13,
    ])
    const titled = async (title: string) => {
      const { node_id = '', number = 0 } = pulls.find((one) => one.title === title) ?? {}
      return (await ann.getPull({ path: { ...path, node_id, number } })).pr
    }
    const own = await titled('Correct the age and name the source of the teeth')
    expect(own).to.deep.include({ status: 'open', author: 'Fathom[bot]', comments: 4, open_threads: 2 })
    expect(own.opened_via).to.include({ by: 'bot', client: 'agent:fathom' })
    const at = { ...path, node_id: own.node_id, number: own.number }
    const { threads } = await ann.listThreads({ path: at })
    expect(JSON.stringify(threads)).to.include('stronger than spider silk in a study of 2015')
    const waiting = await titled('Lower the wind limit for trips to the skerries')
    expect(waiting).to.include({ status: 'open', can_merge: false, merge_reason: 'approvals_missing' })
    const { waiting: forAnn } = await ann.listWaiting({})
    expect(JSON.stringify(forAnn)).to.include(waiting.title)
    const talked = await titled('Count barnacles in a corner of the frame')
    expect(talked).to.include({ status: 'merged', author: 'Cleo Sand', merged_by: 'Ben Okafor', comments: 5 })
    const { types } = await ann.listTypes({ path })
    expect(types.map(({ name }) => name).sort()).to.deep.equal(['instrument', 'site', 'species'])
    const { total } = await ben.queryNodes({ path, body: { where: 'type:species group:mollusc', limit: 1 } })
    expect(total).to.equal(4)
    for (const { name } of types)
      expect((await ann.listTypeProblems({ path: { ...path, type_name: name } })).total, name).to.equal(0)
    for await (const { id, title } of ann.each('listNodes', { path })) {
      const { links } = await ann.listLinks({ path: { ...path, node_id: id } })
      expect(
        links.filter(({ kind }) => kind === 'missing'),
        title,
      ).to.deep.equal([])
    }
    const anyone = grove({ url: demo.url })
    expect((await anyone.getPublicGraph({ path })).total_nodes).to.equal(65)
    await demo.stop()
  })

  describe('in a browser', () => {
    /** Forms of the banner by the words of their buttons. */
    async function formsOn(
      page: string,
      cookie: string,
    ): Promise<Map<string, { at: string; fields: URLSearchParams }>> {
      const html = await (
        await fetch(page, { headers: { accept: 'text/html', 'sec-fetch-site': 'same-origin', cookie } })
      ).text()
      const [banner = ''] = /<aside class="notice demo".*?<\/aside>/s.exec(html) ?? []
      const forms = [...banner.matchAll(/<form method="post" action="(.*?)".*?<\/form>/gs)].map(([form, at = '']) => {
        const fields = [...form.matchAll(/name="(.*?)" value="(.*?)"/g)].map(([, name = '', value = '']) => [
          name,
          value,
        ])
        return [/<button.*?>(.*?)</.exec(form)?.[1] ?? '', { at, fields: new URLSearchParams(fields) }] as const
      })
      return new Map([['who', { at: /<b>(.*?)</.exec(banner)?.[1] ?? '', fields: new URLSearchParams() }], ...forms])
    }

    const post = (url: string, fields: URLSearchParams, headers: Record<string, string>) =>
      fetch(url, { method: 'POST', body: fields, headers: { accept: 'text/html', ...headers }, redirect: 'manual' })

    it('signs in to each account and out, and stays on the page', async () => {
      const demo = await start()
      const page = `${demo.url}/o/${await orgOf(await signedIn(demo.url, 'ann'))}`
      let cookie = ''
      for (const [button, who] of [
        ['Be Ben, editor', 'Ben Okafor'],
        ['Be Cleo, contributor', 'Cleo Sand'],
        ['Be Ann, owner', 'Ann Marlow'],
        ['Read without an account', 'not signed in'],
      ] as const) {
        const { at = '', fields } = (await formsOn(page, cookie)).get(button) ?? {}
        const sent = fields ?? new URLSearchParams()
        const answer = await post(demo.url + at, sent, { cookie, 'sec-fetch-site': 'same-origin' })
        expect(answer.status, button).to.equal(303)
        expect(demo.url + answer.headers.get('location')).to.equal(demo.url + sent.get('next'))
        expect(sent.get('next')).to.match(/^\/o\/selkie-point-/)
        cookie = answer.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
        expect((await formsOn(page, cookie)).get('who')?.at).to.equal(who)
      }
      await demo.stop()
    })

    it('refuses other names of this machine at every door, and forms of other sites', async () => {
      const demo = await start()
      const { port } = new URL(demo.url)
      const statusOf = (path: string, host: string) =>
        new Promise<number | undefined>((done, failed) => {
          get({ host: '127.0.0.1', port, path, headers: { host } }, (res) => done(res.resume().statusCode)).once(
            'error',
            failed,
          )
        })
      for (const path of ['/', '/sign-in', '/assets/page.js', '/orgs', '/healthz', '/x.git/info/refs', '/mcp']) {
        for (const host of [`rebound.example:${port}`, 'rebound.example', '192.0.2.7', 'localhost.example'])
          expect(await statusOf(path, host), `${path} ${host}`).to.equal(403)
        for (const host of [`localhost:${port}`, `[::1]:${port}`])
          expect(await statusOf(path, host), `${path} ${host}`).to.not.equal(403)
      }
      const { email, password } = people.ann
      const fields = new URLSearchParams({ email, password })
      for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'http://rebound.example' }]) {
        const { status, headers: sent } = await post(`${demo.url}/sign-in`, fields, headers)
        expect({ status, cookie: sent.get('set-cookie') }).to.deep.equal({ status: 403, cookie: null })
      }
      await demo.stop()
    })
  })

  it('is refused by the service itself, which would serve others', async () => {
    const { code, stdout, stderr } = await runGroveCommand(dataDir, ['serve'], { DATABASE_URL: '' })
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
    expect(stderr).to.equal(
      `The configuration is not valid: DATA_DIR: ${dataDir} is a demo, and its passwords are known; run grove demo, or use another folder\n`,
    )
    const demo = await start()
    expect(await (await fetch(`${demo.url}/sign-in`)).text()).to.include('notice demo')
    await demo.stop()
  })

  it('is healthy', async () => {
    const { code, stdout } = await command(dataDir, 'doctor')
    expect(stdout).to.include('OK: no problems found')
    expect(code).to.equal(0)
  })

  it('keeps changes at the next start, and begins again with --reset, but not while it runs', async () => {
    const demo = await start()
    const ann = await signedIn(demo.url, 'ann')
    const path = { org_id: await orgOf(ann) }
    await ann.createNode({ path, body: { title: 'Mine' } })
    const { code, stderr } = await outcomeOf(run('--reset'))
    expect(stderr).to.equal(`grove: DATA_DIR: another process uses the demo in ${dataDir}; stop it first\n`)
    expect(code).to.equal(2)
    await demo.stop()
    const next = await start()
    expect(next.output).to.not.include('Writing')
    const count = async ({ url }: Demo) => {
      const api = await signedIn(url, 'cleo')
      return (await api.listNodes({ path: { org_id: await orgOf(api) } })).total
    }
    expect(await count(next)).to.equal(66)
    await next.stop()
    const reset = await start('--reset')
    expect(reset.output).to.include('Writing')
    expect(await count(reset)).to.equal(65)
    await reset.stop()
  })

  it('begins again if it was stopped before the demo was complete', async () => {
    const marker = join(dataDir, '.grove-demo.json')
    expect(JSON.parse(await readFile(marker, 'utf8'))).to.have.keys('made_by', 'org')
    await writeFile(marker, '{"made_by": "grove demo"}\n')
    await writeFile(join(dataDir, 'left'), '')
    const demo = await start()
    expect(demo.output).to.include('Writing')
    await demo.stop()
  })
})
