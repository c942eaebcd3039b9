/** The example of server/deploy/ that keeps a static site up to date. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { endAfterFile } from '../support/processes.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

describe('the static site of server/deploy/', () => {
  let site: string
  let port: number
  let env: Record<string, string>
  let running: ChildProcess | undefined

  after(async () => {
    await stop()
    await rm(site, { recursive: true })
  })
  // The clock is real, because the receiver compares times.
  const { grove, ann } = useWorld({ ann: 'owner' })
  before(async () => {
    site = await mkdtemp(join(tmpdir(), 'site-'))
    port = await freePort()
    const { token } = (await ann.post('/auth/tokens', { name: 'Site', access: 'read' }).then(expecting(201))).body
    const hook = { url: `http://127.0.0.1:${port}/`, types: ['node.*'] }
    const { secret } = (await ann.post(`/orgs/${ann.org}/webhooks`, hook).then(expecting(201))).body
    env = {
      ...{ PATH: process.env.PATH ?? '', GROVE: grove.url, GROVE_ORG: ann.org, GROVE_TOKEN: token },
      ...{ WEBHOOK_SECRET: secret, SITE_DIR: site, PORT: String(port) },
      SITE_COMMAND: `cat "$SITE_DIR"/*.md > "$SITE_DIR/all.txt"; echo built >> "$SITE_DIR/runs.txt"`,
    }
  })

  const start = async () => {
    running = endAfterFile(
      spawn(process.execPath, ['server/deploy/site.mjs'], { env, stdio: ['ignore', 'ignore', 'pipe'] }),
    )
    let said = ''
    running.stderr?.on('data', (data) => {
      said += String(data)
    })
    await until(async () => said.includes('Listening'))
  }
  const stop = async () => {
    if (running?.exitCode !== null) return
    running.kill('SIGKILL')
    await once(running, 'exit')
  }
  const read = (name: string) => readFile(join(site, name), 'utf8').catch(() => '')
  const runs = async () => (await read('runs.txt')).split('\n').length - 1
  const pages = async () => (await readdir(site)).filter((name) => name.endsWith('.md')).sort()
  const merge = async (node: TestNode, branch: string, text: string) => {
    await node.branch(branch)
    await node.commit(branch, { 'content.md': text })
    const { number } = await node.open(branch)
    await ann.post(`${node.at}/pull-requests/${number}/merge`, {}).then(expecting(200))
  }

  it('has every page at its first start, and is rebuilt by a merge', async () => {
    const nodes = [
      await newNode(grove, ann, { title: 'Whales' }),
      await newNode(grove, ann, { title: 'A "quoted" page' }),
    ]
    await start()
    expect(await pages()).to.deep.equal(nodes.map(({ id }) => `${id}.md`).sort())
    expect(await read(`${nodes[1]?.id}.md`)).to.equal('---\ntitle: "A \\"quoted\\" page"\n---\n\n')
    const [first] = nodes
    if (!first) throw new Error('There is no node')
    await merge(first, 'one', 'Whales are mammals.\n')
    await until(async () => (await read('all.txt')).includes('Whales are mammals.'))
  })

  it('misses nothing while it is down', async () => {
    await stop()
    const before = await pages()
    const built = await runs()
    const added = await newNode(grove, ann, { title: 'Krill' })
    await merge(added, 'two', 'Krill is small.\n')
    const [gone = ''] = before
    await ann.delete(`/orgs/${ann.org}/nodes/${gone.slice(0, -'.md'.length)}`).then(expecting(204))
    await start()
    expect(await pages()).to.deep.equal([...before.slice(1), `${added.id}.md`].sort())
    expect(await read(`${added.id}.md`)).to.contain('Krill is small.')
    expect(await runs()).to.be.above(built)
  })

  it('begins again when its cursor is gone, and removes deleted pages', async () => {
    await stop()
    const [gone = ''] = await pages()
    await writeFile(join(site, '.cursor'), '1-0123456789abcdef')
    await ann.delete(`/orgs/${ann.org}/nodes/${gone.slice(0, -'.md'.length)}`).then(expecting(204))
    await start()
    expect(await pages()).to.not.include(gone)
    expect(await pages()).to.not.have.length(0)
  })

  it('survives a sender that disconnects', async () => {
    const socket = connect(port, '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc')
    await once(socket, 'connect')
    socket.resetAndDestroy()
    await until(async () => (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST' })).status === 401)
  })

  it('believes no other sender', async () => {
    const built = await runs()
    const headers = { 'webhook-id': 'x', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)) }
    for (const signature of ['', 'v1,AAAA', 'v1,é'.repeat(9)])
      expect(
        (
          await fetch(`http://127.0.0.1:${port}/`, {
            method: 'POST',
            headers: { ...headers, 'webhook-signature': encodeURI(signature) },
            body: '{}',
          })
        ).status,
      ).to.equal(401)
    expect(await runs()).to.equal(built)
  })
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // a TCP server
  server.close()
  await once(server, 'close')
  return port
}
