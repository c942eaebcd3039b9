/** Reads that hold little in memory, whatever lies in a repository; and the git processes that they leave, which is none. */

import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { environment } from '../support/git.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

const mib = 1_048_576

describe('reading', () => {
  let grove: SpawnedGrove
  let ann: PersonClient

  before(async () => {
    grove = await spawnGrove(await newDataDir())
    ann = await signUp(grove, 'Ann')
  })
  after(async () => {
    await grove?.stop()
    await rm(grove.dataDir, { recursive: true, force: true })
  })

  it('a repository of 200 MB takes 100 MiB more, and 64 in git, at most', async () => {
    const node = await newNode(grove, ann)
    importFiles(node, 100)
    const before = await memory(grove.pid)
    const tree = `${node.at}/tree/main`
    const { entities } = (await ann.get(`${tree}?limit=200`).then(expecting(200))).body
    let most = 0
    let bytes = 0
    for (const [n, { entity_key, object_id }] of entities.entries()) {
      bytes += (await read(`${node.at}/objects/${object_id}`)).length
      if (n % 10 === 0) await ann.get(`${tree}/files/${entity_key}`).then(expecting(200))
      for (const pid of await catFiles(grove.pid)) most = Math.max(most, await memory(pid))
    }
    for (let offset = 0; offset <= 50; offset += 50) {
      const { history } = (await ann.get(`${tree}/commits?limit=50&offset=${offset}`).then(expecting(200))).body
      for (const { id } of history) await ann.get(`${tree}/commits/${id}`).then(expecting(200))
    }
    const root = node.git.log().at(-1)
    expect((await ann.get(`${node.at}/compare?base=${root}&head=main`)).body.changes.added).to.have.length(100)
    expect(bytes).to.be.greaterThan(200 * mib)
    expect((await memory(grove.pid)) - before).to.be.below(100 * mib)
    expect(most).to.be.within(1, 64 * mib)
  })

  for (const where of ['loose', 'packed']) {
    it(`refuses a ${where} blob that inflates to 160 MB without inflating it, and shows what else there is`, async () => {
      const node = await newNode(grove, ann)
      const zeros = spawnSync('sh', ['-c', 'head -c 160000000 /dev/zero | git hash-object -w --stdin'], {
        env: environment(node.git.dir),
      })
      const oid = zeros.stdout.toString().trim()
      const bomb = { mode: '100644', oid }
      const files = { 'bomb.bin': bomb, 'content.md': bomb, 'small.txt': 'small\n' }
      const head = node.git.commit({ files, parents: [node.git.head()] })
      node.git.point('main', head)
      if (where === 'packed') node.git.say('repack', '-adq')
      const tree = `${node.at}/tree/main`
      const before = await memory(grove.pid)
      for (const path of [`${tree}/files/bomb.bin`, `${tree}/files/content.md`, `${node.at}/objects/${oid}`]) {
        const { status, body } = await ann.get(path)
        expect([status, body.code]).to.deep.equal([413, 'too_large'])
      }
      expect((await ann.get(`${tree}/files/small.txt`)).body.content).to.equal('small\n')
      expect((await ann.get(`${tree}/commits/${head}`)).body.changes.added).to.have.length(3)
      expect((await ann.get(`${node.at}/compare?base=${head}&head=main`)).status).to.equal(200)
      expect((await ann.get(node.at)).body).to.include({ head, title: 'Whales' })
      expect((await memory(grove.pid)) - before).to.be.below(64 * mib)
      for (const pid of await catFiles(grove.pid)) expect(await memory(pid)).to.be.below(64 * mib)
    })
  }

  it('answers with the bytes of a blob of 32 MiB and no larger one, loose and packed', async () => {
    const node = await newNode(grove, ann)
    const store = (size: number) =>
      node.git
        .run(['hash-object', '-w', '--stdin'], { input: Buffer.alloc(size, 'grove ') })
        .toString()
        .trim()
    const [largest, larger] = [store(32 * mib), store(32 * mib + 1)]
    for (const pack of [() => {}, () => putInPack(node, [largest, larger])]) {
      pack()
      expect((await read(`${node.at}/objects/${largest}`)).equals(Buffer.alloc(32 * mib, 'grove '))).to.equal(true)
      expect((await ann.get(`${node.at}/objects/${larger}`)).status).to.equal(413)
    }
  })

  it('refuses a loose blob that inflates to more than it says, or is another, as damaged', async () => {
    const node = await newNode(grove, ann)
    const wrong = [
      deflateSync(Buffer.concat([Buffer.from('blob 10\0'), Buffer.alloc(50_000_000)])),
      deflateSync(Buffer.from('blob 5\0other')),
      Buffer.concat([deflateSync(Buffer.from('blob 4\0long')), Buffer.alloc(100_000_000)]),
    ]
    for (const [n, bytes] of wrong.entries()) {
      const oid = `${n}`.repeat(40)
      await mkdir(join(node.git.dir, 'objects', oid.slice(0, 2)), { recursive: true })
      await writeFile(join(node.git.dir, 'objects', oid.slice(0, 2), oid.slice(2)), bytes)
      const { status, body } = await ann.get(`${node.at}/objects/${oid}`)
      expect([status, body.code]).to.deep.equal([503, 'repo_damaged'])
    }
  })

  it('tells the one damaged object of a pack from its neighbours, which it serves', async () => {
    const node = await newNode(grove, ann)
    const files = Object.fromEntries(
      ['a', 'b', 'c'].map((name) => [name, `${name}${randomBytes(3_000).toString('hex')}`]),
    )
    node.git.point('main', node.git.commit({ files, parents: [node.git.head()] }))
    node.git.say('repack', '-adq')
    await damageInPack(node, node.git.say('rev-parse', 'main:b'))
    const answers = await Promise.all(
      ['a', 'b', 'c', 'b', 'a'].map((name) => ann.get(`${node.at}/tree/main/files/${name}`)),
    )
    expect(answers.map(({ status, body }) => body.code ?? status)).to.deep.equal([
      200,
      'repo_damaged',
      200,
      'repo_damaged',
      200,
    ])
  })

  it('continues when the git that reads for it is killed, or hangs', async () => {
    const node = await packedNode()
    for (const signal of ['SIGKILL', 'SIGSTOP'] as const) {
      await ann.get(`${node.at}/tree/main/files/a`).then(expecting(200))
      const pids = await catFiles(grove.pid)
      expect(pids).not.to.deep.equal([])
      for (const pid of pids) process.kill(pid, signal)
      expect((await ann.get(`${node.at}/tree/main/files/b`)).body.content).to.equal('b')
    }
  })

  it('asks 8 gits at most, however many repositories are read at once', async () => {
    const nodes = await Promise.all(Array.from({ length: 20 }, packedNode))
    let most = 0
    let reading = true
    const watch = (async () => {
      while (reading) most = Math.max(most, (await catFiles(grove.pid)).length)
    })()
    const answers = await Promise.all(
      nodes.flatMap((node) => ['a', 'b', 'c'].map((name) => ann.get(`${node.at}/tree/main/files/${name}`))),
    )
    reading = false
    await watch
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(60).fill(200))
    expect(most).to.be.within(1, 8)
  })

  it('starts no git for loose objects, and none is left when nothing is read', async () => {
    await until(async () => (await catFiles(grove.pid)).length === 0)
    const node = await newNode(grove, ann)
    await node.commit('main', { a: 'a' })
    await ann.get(`${node.at}/tree/main/files/a`).then(expecting(200))
    expect((await ann.get(`${node.at}/objects/${'1'.repeat(40)}`)).status).to.equal(404)
    expect(await catFiles(grove.pid)).to.deep.equal([])
  })

  it('does not answer from a repository that another has taken the place of', async () => {
    const node = await packedNode()
    const mirror = `${node.git.dir}.mirror`
    execFileSync('git', ['clone', '-q', '--mirror', '--no-local', node.git.dir, mirror], { stdio: 'pipe' })
    const secret = node.git.run(['hash-object', '-w', '--stdin'], { input: 'secret' }).toString().trim()
    putInPack(node, [secret])
    expect((await read(`${node.at}/objects/${secret}`)).toString()).to.equal('secret')
    await rename(node.git.dir, `${node.git.dir}.old`)
    await rename(mirror, node.git.dir)
    expect((await ann.get(`${node.at}/tree/main/files/a`)).body.content).to.equal('a')
    expect((await ann.get(`${node.at}/objects/${secret}`)).status).to.equal(404)
    await rm(`${node.git.dir}.old`, { recursive: true })
  })

  it('leaves no git behind when the service stops, nor when it is killed', async () => {
    for (const end of ['stop', 'kill'] as const) {
      const other = await spawnGrove(await newDataDir())
      try {
        const ben = await signUp(other, 'Ben')
        const node = await newNode(other, ben)
        node.git.point('main', node.git.commit({ files: { a: 'a', large }, parents: [node.git.head()] }))
        node.git.say('repack', '-adq')
        await ben.get(`${node.at}/tree/main`).then(expecting(200))
        const blob = node.git.say('rev-parse', 'main:a')
        await ben.get(`${node.at}/objects/${blob}`).then(expecting(200))
        const pids = await catFiles(other.pid)
        expect(pids).to.have.length(1)
        await other[end]()
        await until(() => !pids.some((pid) => existsSync(`/proc/${pid}`)))
      } finally {
        await other.kill()
        await rm(other.dataDir, { recursive: true, force: true })
      }
    }
  })

  /** Nothing compresses it: a pack with it is not read by the service itself. */
  const large = randomBytes(mib)

  async function read(path: string): Promise<Buffer> {
    const response = await fetch(grove.url + path, { headers: { authorization: `Bearer ${ann.session.accessToken}` } })
    expect(response.status).to.equal(200)
    return Buffer.from(await response.arrayBuffer())
  }

  /** With the files a, b and c, in one pack that git reads. */
  async function packedNode(): Promise<TestNode> {
    const node = await newNode(grove, ann)
    node.git.point('main', node.git.commit({ files: { a: 'a', b: 'b', c: 'c', large }, parents: [node.git.head()] }))
    node.git.say('repack', '-adq')
    return node
  }
})

/** Files of 2 MiB that nothing compresses, each in a commit of its own, in one pack. */
function importFiles(node: TestNode, count: number): void {
  const size = 2 * mib
  const parts: Buffer[] = []
  for (let n = 0; n < count; n++) {
    const lines = [
      'commit refs/heads/main',
      `committer Ann <ann@example.org> ${1_700_000_000 + n} +0000`,
      'data 3',
      ...[n === 0 ? 'Add\nfrom refs/heads/main^0' : 'Add'],
      `M 100644 inline file-${n}`,
      `data ${size}\n`,
    ]
    parts.push(Buffer.from(lines.join('\n')), randomBytes(size), Buffer.from('\n'))
  }
  node.git.run(['-c', 'core.compression=0', 'fast-import', '--quiet', '--force', '--depth=0'], {
    input: Buffer.concat(parts),
  })
}

/** Puts the objects in a pack of their own, and removes the loose ones. */
function putInPack(node: TestNode, oids: readonly string[]): void {
  node.git.run(['pack-objects', '-q', join(node.git.dir, 'objects/pack/pack')], { input: `${oids.join('\n')}\n` })
  node.git.say('prune-packed')
}

/** Changes a byte in the middle of an object. */
async function damageInPack(node: TestNode, oid: string): Promise<void> {
  const folder = join(node.git.dir, 'objects/pack')
  const [name = ''] = (await readdir(folder)).filter((one) => one.endsWith('.pack'))
  const lines = node.git.lines('verify-pack', '-v', join(folder, name))
  const [, , , length = 0, offset = 0] = lines.find((line) => line.startsWith(oid))?.split(/\s+/) ?? []
  await chmod(join(folder, name), 0o644)
  const file = await open(join(folder, name), 'r+')
  const at = Number(offset) + Math.floor(Number(length) / 2)
  await file.write(Buffer.from('xxxxxxxx'), 0, 8, at)
  await file.close()
}

/** The most bytes that the process had in RAM so far. */
async function memory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024
}

/** Those that read packed objects for the process. */
async function catFiles(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`)
  const lists = threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => ''))
  const children = (await Promise.all(lists)).flatMap((list) => list.split(' ').filter(Boolean).map(Number))
  const commands = children.map((child) => readFile(`/proc/${child}/cmdline`, 'utf8').catch(() => ''))
  const said = await Promise.all(commands)
  return children.filter((_, at) => said[at]?.includes('cat-file'))
}
