/** The upkeep of repositories in the background, as Git and the file system see it. */

import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { maxPackBytes, packsToMerge } from '../../gitstore/upkeep/maintenance.ts'
import { expectSound, locksIn, newDataDir } from '../support/data-folder.ts'
import { looseFile } from '../support/git.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

describe('maintenance', () => {
  let dataDir: string
  let grove: SpawnedGrove | undefined
  let ann: PersonClient

  beforeEach(async () => {
    dataDir = await newDataDir()
  })
  afterEach(async () => {
    await grove?.kill()
    grove = undefined
    await rm(dataDir, { recursive: true, force: true })
  })

  it('packs what is loose and old, puts packs together, packs refs, and leaves alone what is young or kept', async () => {
    const [loose, packed, named] = (await newNodes(3)) as [TestNode, TestNode, TestNode]
    importCommits(loose, 900)
    const orphan = store(loose, 'no ref reaches this')
    makeOld(loose)
    const fresh = store(loose, 'somebody is about to commit this')
    for (let n = 0; n < 12; n++) addPack(packed, n)
    const [kept = ''] = packsOf(packed)
    writeFileSync(join(packed.git.dir, 'objects/pack', `${kept}.keep`), '')
    nameMany(named, 300)
    const maintaining = await startGrove({ dataDir })
    const before = await Promise.all([loose, packed, named].map((node) => answersOf(maintaining, node)))

    await until(() => looseOf(loose).length < 100 && packsOf(packed).length === 2 && looseRefsOf(named).length === 0)
    expect(looseOf(loose)).to.deep.equal([fresh])
    expect(loose.git.say('cat-file', '-p', orphan)).to.equal('no ref reaches this')
    expect(packsOf(packed)).to.include(kept)
    await until(() => existsSync(join(packed.git.dir, 'objects/info/commit-graph')))
    const after = await Promise.all([loose, packed, named].map((node) => answersOf(maintaining, node)))
    expect(after).to.deep.equal(before)
    await maintaining.close()
    await expectSound(dataDir)
  })

  it('runs a git of low priority, two processes never on one repository, and none outlives them', async () => {
    const nodes = await oldNodes(2)
    const fake = await gitThatPacksBy('echo "$$ $GIT_DIR" >> "$NOTES"; exec sleep 600')
    const started = () => fake.notes().map((line) => line.split(' '))
    grove = await spawnGrove(dataDir, fake.environment)
    const other = await spawnGrove(dataDir, fake.environment)
    try {
      await until(() => started().length >= 2)
      await sleep(1_500)
      expect(
        started()
          .map(([, dir]) => dir)
          .sort(),
      ).to.deep.equal(nodes.map((node) => node.git.dir).sort())
      for (const [pid] of started()) expect(nicenessOf(Number(pid))).to.equal(19)
      expect(await Promise.all([grove.stop(), other.stop()])).to.deep.equal([0, 0])
      await until(() => started().every(([pid]) => !existsSync(`/proc/${pid}`)))
      expect(await locksIn(dataDir)).to.deep.equal([])
      for (const node of nodes) node.git.fsck()
    } finally {
      await other.kill()
      await fake.remove()
    }
  })

  it('says once that a repository cannot be maintained, and maintains all others', async () => {
    const nodes = await oldNodes(3)
    const [damaged, ...sound] = nodes.sort((a, b) => (a.git.dir < b.git.dir ? -1 : 1))
    if (!damaged) throw new Error('There is no node')
    const [torn = ''] = looseOf(damaged)
    const path = looseFile(damaged.git, torn)
    chmodSync(path, 0o644)
    writeFileSync(path, 'torn')
    utimesSync(path, 1, 1)
    const before = looseOf(damaged)
    const maintaining = await startGrove({ dataDir, logLevel: 'warn' })
    await until(() => sound.every((node) => looseOf(node).length === 0))
    await maintaining.close()
    expect(maintaining.logged().match(/could not be maintained/g)).to.have.length(1)
    expect(looseOf(damaged)).to.deep.equal(before)
  })

  it('deletes no loose object that has been made young again while it was packed', async () => {
    const [node] = await oldNodes(1)
    const [oid = ''] = node ? looseOf(node) : []
    const fake = await gitThatPacksBy(
      `git "$@"; code=$?; touch $GIT_DIR/objects/${oid.slice(0, 2)}/${oid.slice(2)}; exit $code`,
    )
    try {
      grove = await spawnGrove(dataDir, fake.environment)
      await until(() => node !== undefined && looseOf(node).length <= 1)
      expect(node && looseOf(node)).to.deep.equal([oid])
    } finally {
      await fake.remove()
    }
  })

  const sizes = (...all: number[]) =>
    packsToMerge(all.map((bytes) => ({ name: `${bytes}`, bytes }))).map((p) => p.bytes)

  it('puts together the smallest packs until each that is left is twice all below it, up to a bound', () => {
    expect(sizes()).to.deep.equal([])
    expect(sizes(5)).to.deep.equal([])
    expect(sizes(70, 10, 20)).to.deep.equal([])
    expect(sizes(100, 1, 1, 30)).to.deep.equal([1, 1])
    expect(sizes(3, 1, 1, 100)).to.deep.equal([1, 1, 3])
    expect(sizes(1, 1, 1, 4, 9)).to.deep.equal([1, 1, 1, 4, 9])
    const half = maxPackBytes / 2
    expect(sizes(half, half, half)).to.deep.equal([half, half])
    expect(sizes(half + 1, half, half + 2)).to.deep.equal([])
  })

  /** Of Ann, made by a service that maintains none and has stopped. */
  async function newNodes(count: number): Promise<TestNode[]> {
    const maker = await startGrove({ dataDir, sweeps: false })
    ann = await signUp(maker, 'Ann')
    const nodes: TestNode[] = []
    for (let n = 0; n < count; n++) nodes.push(await newNode(maker, ann))
    await maker.close()
    return nodes
  }

  /** Each has 2,700 loose objects that are old enough to be packed. */
  async function oldNodes(count: number): Promise<TestNode[]> {
    const nodes = await newNodes(count)
    for (const node of nodes) {
      importCommits(node, 900)
      makeOld(node)
    }
    return nodes
  }

  /** Of a node as its readers get it. */
  async function answersOf(grove: Grove, { at }: TestNode) {
    const person = client(grove, ann.session.accessToken)
    const paths = ['', '/branches?limit=200', '/tree/main?limit=200', '/tree/main/commits?limit=50']
    return Promise.all(paths.map(async (path) => (await person.get(at + path).then(expecting(200))).body))
  }
})

/** A git that runs these lines of shell in place of `git pack-objects`; $NOTES is a file to write to. */
async function gitThatPacksBy(lines: string) {
  const folder = await mkdtemp(join(tmpdir(), 'grove-git-'))
  const [path, notes] = [process.env.PATH, join(folder, 'notes')]
  const script = `#!/bin/sh
PATH="${path}" NOTES="${notes}"
case " $* " in *" pack-objects "*) ${lines};; esac
exec git "$@"
`
  await mkdir(join(folder, 'bin'))
  writeFileSync(notes, '')
  writeFileSync(join(folder, 'bin/git'), script, { mode: 0o755 })
  return {
    environment: { PATH: `${join(folder, 'bin')}:${path}` },
    notes: () => readFileSync(notes, 'utf8').split('\n').filter(Boolean),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

function nicenessOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
}

/** Three loose objects a commit. */
function importCommits(node: TestNode, count: number): void {
  const one = (n: number) => {
    const from = n === 0 ? 'from refs/heads/main^0\n' : ''
    const text = `${n}\n`
    return `commit refs/heads/main\ncommitter Ann <ann@example.org> ${1_700_000_000 + n} +0000\ndata 3\nAdd\n${from}M 100644 inline file\ndata ${text.length}\n${text}\n`
  }
  const input = Array.from({ length: count }, (_, n) => one(n)).join('')
  node.git.run(['-c', 'fastimport.unpackLimit=1000000', 'fast-import', '--quiet', '--force'], { input })
}

/** With a file that nothing compresses, in a pack of its own. */
function addPack(node: TestNode, n: number): void {
  const content = randomBytes(150_000)
  node.git.point('main', node.git.commit({ files: { [`file-${n}`]: content }, parents: [node.git.head()] }))
  node.git.say('repack', '-dq')
}

function nameMany(node: TestNode, count: number): void {
  const head = node.git.head()
  const input = Array.from({ length: count }, (_, n) => `create refs/heads/branch-${n} ${head}\n`).join('')
  node.git.run(['update-ref', '--stdin'], { input })
}

function store(node: TestNode, content: string): string {
  return node.git.run(['hash-object', '-w', '--stdin'], { input: content }).toString().trim()
}

function looseOf(node: TestNode): string[] {
  const folders = readdirSync(join(node.git.dir, 'objects')).filter((name) => /^[0-9a-f]{2}$/.test(name))
  return folders.flatMap((name) => readdirSync(join(node.git.dir, 'objects', name)).map((rest) => name + rest))
}

function makeOld(node: TestNode): void {
  const then = new Date(Date.now() - 2 * 60 * 60_000)
  for (const oid of looseOf(node)) utimesSync(looseFile(node.git, oid), then, then)
}

function packsOf(node: TestNode): string[] {
  const names = readdirSync(join(node.git.dir, 'objects/pack'))
  return names.filter((name) => name.endsWith('.idx')).map((name) => name.slice(0, -'.idx'.length))
}

function looseRefsOf(node: TestNode): string[] {
  const names = readdirSync(join(node.git.dir, 'refs/heads'))
  return names.filter((name) => !name.endsWith('.lock'))
}
