/** The link checker of server/deploy/, which reports checks with git and curl as a CI job does. */

import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type Client, client } from '../support/people.ts'
import { ann, bob, cy, grove, useScene } from './scene.ts'

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

describe('the link checker', () => {
  useScene()
  let token: string

  before(async () => {
    token = await tokenOf(bob, 'write')
  })

  const tokenOf = async (who: Client, access: string): Promise<string> =>
    (await who.post('/auth/tokens', { name: 'CI', access }).then(expecting(201))).body.token
  const run = (args: readonly string[], env: Record<string, string> = {}) =>
    new Promise<Ended>((done) => {
      const variables = { PATH: process.env.PATH ?? '', GROVE: grove.url, GROVE_TOKEN: token, ...env }
      execFile('sh', ['server/deploy/check-links.sh', ...args], { env: variables }, (error, stdout, stderr) =>
        done({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr }),
      )
    })
  const check = ({ org, id }: TestNode, commit: string, env?: Record<string, string>) => run([org, id, commit], env)
  const checks = async ({ at }: TestNode, commit: string) =>
    (await cy.get(`${at}/checks/${commit}`).then(expecting(200))).body.checks
  const subjects = ({ git }: TestNode) =>
    git.lines('log', '--first-parent', '--format=%s', 'refs/grove/ledger').slice(0, 2)

  it('reports that all links work, after it was pending', async () => {
    const node = await newNode(grove, ann, { text_content: '[all](#all) [sea](https://sea.example/)\n' })
    const head = await node.commit('main', {
      'notes/a b.md':
        '[b](b.md) ![p](../pictures/p%20(1).png "title") [c](<c d.md#x>) [folder](../pictures) [up](../..) [![p](b.md)](./)\n',
      'notes/b.md': '[text]: ../content.md\n[^1]: not/a/link\n`[code](no.md)` and ``[code](`no.md)`` \\[no](no.md)\n',
      'notes/c d.md':
        '~~~~\n[x](no.md)\n~~~\n[x](no.md)\n~~~~\n\n```md\n[x](no.md)\n```\n[é](%C3%A9.md?raw#x), [é](é.md)\r\n',
      'notes/é.md': '[[Wiki]] [mail](mailto:a@example.org) [host](//x/y) [page](/o/x) [other](../../other/x.md)\n',
      'pictures/p (1).png': 'x',
    })
    const ended = await check(node, head, { CHECK_URL: 'https://ci.example.org/7' })
    expect(ended).to.deep.equal({ code: 0, stdout: '', stderr: '' })
    const [{ reported_at: _, ...one }, ...others] = await checks(node, head)
    const description = 'All 9 links to files work'
    expect([one, others]).to.deep.equal([
      {
        ...{ name: 'links', state: 'success', description, url: 'https://ci.example.org/7' },
        reported_by: { id: bob.user.id, name: 'Bob' },
      },
      [],
    ])
    expect(subjects(node)).to.deep.equal([`check ${head} links`, `check ${head} links`])
  })

  it.deep('reports links that lead nowhere, names each, and ends with 1', async () => {
    const node = await newNode(grove, ann, { text_content: 'See [it](missing.md).\n' })
    await node.branch('draft')
    const head = await node.commit('draft', {
      'a.md': 'Fine: [x](content.md).\n\nNot: [x](content.md/x), ![y](no/é.png), [z](Content.md)\n',
      'b.md': '[z]: "no"\n\n- [q](no.md "x") and `code` [r](./no/../no2.md)\n',
    })
    const { code, stdout, stderr } = await check(node, head)
    expect([code, stderr]).to.deep.equal([1, ''])
    expect(stdout.split('\n')).to.deep.equal([
      ...['a.md:3: content.md/x', 'a.md:3: no/é.png', 'a.md:3: Content.md'],
      ...['b.md:1: "no"', 'b.md:3: no.md', 'b.md:3: ./no/../no2.md', 'content.md:1: missing.md', ''],
    ])
    const [{ name, state, description }] = await checks(node, head)
    const words = '7 of 8 links to files lead nowhere: a.md:3: content.md/x'
    expect([name, state, description]).to.deep.equal(['links', 'failure', words])
    const again = await check(node, head, { CHECK_NAME: 'again' })
    expect([again.code, (await checks(node, head)).map((one: { name: string }) => one.name)]).to.deep.equal([
      1,
      ['again', 'links'],
    ])
  })

  it.deep('reports in words that are safe if names are hostile', async () => {
    const node = await newNode(grove, ann)
    const named = async (name: string) => {
      const head = await node.commit('main', { [name]: '[x]("no)\n' })
      const ended = await check(node, head)
      const [{ state, description }] = await checks(node, head)
      await node.commit('main', { [name]: null })
      return [ended.code, ended.stderr, state, description]
    }
    const words = '1 of 1 links to files lead nowhere'
    for (const name of ['$(touch x)`id`;" \'.md', '%s%n&|<>.md', '-n.md'])
      expect(await named(name)).to.deep.equal([1, '', 'failure', `${words}: ${name}:1: "no`])
    for (const name of ['é.md', `${'x'.repeat(200)}.md`])
      expect(await named(name)).to.deep.equal([1, '', 'failure', words])
  })

  it('leaves names of pages in a vault to the service', async () => {
    const properties = { source_path: 'sea/Whales.md' }
    const node = await newNode(grove, ann, { properties, text_content: '[k](Krill.md) [l](Krill) ![p](no.png)\n' })
    const { code, stdout } = await check(node, node.git.head())
    expect([code, stdout]).to.deep.equal([1, 'content.md:1: no.png\n'])
  })

  it('ends with 3 and says why, if the service is away, refuses or does not know the commit', async () => {
    const node = await newNode(grove, ann)
    const head = node.git.head()
    const away = await check(node, head, { GROVE: 'http://127.0.0.1:9' })
    expect(away.code).to.equal(3)
    expect(away.stderr).to.match(/^check-links: cannot reach http:\/\/127\.0\.0\.1:9: curl: \(7\) .+\n$/)
    const refused = async (args: readonly string[], env?: Record<string, string>) => {
      const { code, stdout, stderr } = await run(args, env)
      expect([code, stdout]).to.deep.equal([3, ''])
      return /with status (\d+): .*"code":"(\w+)"/.exec(stderr)?.slice(1).join(' ')
    }
    const at = [node.org, node.id, head]
    expect(await refused(at, { GROVE_TOKEN: 'grv_no' })).to.equal('401 invalid_token')
    expect(await refused(at, { GROVE_TOKEN: await tokenOf(bob, 'read') })).to.equal('403 token_scope')
    expect(await refused(at, { GROVE_TOKEN: await tokenOf(cy, 'write') })).to.equal('403 forbidden')
    expect(await refused([node.org, node.id, '1'.repeat(40)])).to.equal('404 commit_not_found')
    expect(await checks(node, head)).to.deep.equal([])
  })

  it('leaves no check pending if the clone fails, or the commit is in no branch any more', async () => {
    const node = await newNode(grove, ann)
    const head = await node.proposal('draft')
    await bob.put(`${node.at}/checks/${head}/links`, { state: 'success' }).then(expecting(200))
    node.git.point('draft', null)
    const gone = await check(node, head)
    expect([gone.code, gone.stderr]).to.deep.equal([
      3,
      `check-links: no branch of the node contains ${head} any more\n`,
    ])
    const [one] = await checks(node, head)
    expect([one.state, one.description]).to.deep.equal(['failure', 'The check could not run; see its log'])
    const proxy = createServer(async (request, response) => {
      if (request.url?.startsWith('/git/')) return void response.writeHead(500).end('no')
      const body = []
      for await (const part of request) body.push(part)
      const answer = await client(grove, token).put(request.url ?? '', Buffer.concat(body))
      response.writeHead(answer.status).end(JSON.stringify(answer.body))
    })
    await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done))
    try {
      const address = proxy.address()
      const port = typeof address === 'object' ? address?.port : 0
      const failed = await check(node, node.git.head(), { GROVE: `http://127.0.0.1:${port}/` })
      expect(failed.code).to.equal(3)
      expect(failed.stderr).to.match(/^check-links: git cannot clone the node: .*500/)
      expect((await checks(node, node.git.head()))[0].state).to.equal('failure')
    } finally {
      proxy.close()
    }
  })

  it('ends with 2 and shows its usage if it is called in a wrong way', async () => {
    const wrong: [readonly string[], Record<string, string>?][] = [[[]], [['a', 'b']], [['a', 'b', 'c'], { GROVE: '' }]]
    wrong.push([['a', 'b', 'c'], { GROVE_TOKEN: '' }], [['a', 'b', '--upload-pack=x']], [['a', '../b', 'c']])
    wrong.push([['a', 'b', 'c'], { GROVE: 'file:///x' }], [['a', 'b', 'c'], { GROVE_TOKEN: 'a"b' }])
    wrong.push([['a', 'b', 'c'], { CHECK_URL: 'https://x/"' }], [['a', 'b', 'c'], { CHECK_NAME: 'a/b' }])
    for (const [args, env] of wrong) {
      const { code, stderr } = await run(args, env)
      expect([code, stderr.split(' ')[0]], JSON.stringify([args, env])).to.deep.equal([2, 'Usage:'])
    }
  })
})
