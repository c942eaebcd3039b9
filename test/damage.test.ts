/** Repositories that a crash or a hand has damaged: what is mended by itself, and what stays 503 alone until it is mended. */

import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { commitOf } from './support/concurrency-rules.ts'
import { expectSound } from './support/data-folder.ts'
import {
  type Client,
  client,
  newDataDir,
  type PersonClient,
  type SpawnedGrove,
  signUp,
  spawnGrove,
} from './support/grove.ts'
import { newNode, type TestNode } from './support/node.ts'

/** Of every service here: what is compared holds addresses. */
const PUBLIC_URL = 'https://grove.example'

describe('a repository that was damaged while nothing ran', function () {
  this.timeout(60_000)
  let written = 0
  let grove: SpawnedGrove
  let ann: PersonClient
  let node: TestNode
  let neighbour: TestNode

  beforeEach(async () => {
    grove = await spawnGrove(await newDataDir(), { PUBLIC_URL })
    ann = await signUp(grove, 'Ann')
    node = await newNode(grove, ann, { text_content: 'A song of the deep sea' })
    neighbour = await newNode(grove, ann, { text_content: 'A calf' })
  })
  afterEach(async () => {
    await grove?.kill()
    await rm(grove.dataDir, { recursive: true, force: true })
  })

  /** Stops the service, does it, and starts the next. */
  async function meanwhile(work: () => Promise<unknown>, environment: Record<string, string> = {}): Promise<Client> {
    expect(await grove.stop()).to.equal(0)
    await work()
    grove = await spawnGrove(grove.dataDir, { PUBLIC_URL, ...environment })
    return client(grove, ann.session.accessToken)
  }

  describe('is mended by the next start, and the log says how:', () => {
    it('empty refs, from what the index knows of them', async () => {
      await node.proposal('dolphins')
      await node.open('dolphins')
      expect((await ann.patch(`${node.at}/pull-requests/1`, { status: 'closed' })).status).to.equal(200)
      expect((await ann.delete(`${node.at}/branches/dolphins`)).status).to.equal(204)
      await node.proposal('a/b')
      const refs = ['refs/heads/main', 'refs/heads/a/b', 'refs/grove/ledger', 'refs/grove/pulls/1']
      const before = await readNode(ann, node)
      const lines = node.git.lines('for-each-ref')
      const person = await meanwhile(async () => {
        for (const ref of refs) await writeFile(join(node.git.dir, ref), ref.endsWith('main') ? '\0'.repeat(41) : '')
        await writeFile(join(grove.dataDir, ann.org, 'org.git/refs/heads/main'), '')
      })
      await until(() => said('restored an empty ref').length === 5)
      expect(await readNode(person, node)).to.deep.equal(before)
      expect(node.git.lines('for-each-ref')).to.deep.equal(lines)
      expect(said('restored an empty ref').map(({ ref }) => ref)).to.have.members([...refs, 'refs/heads/main'])
      await expectSound(grove.dataDir)
    })

    it('an empty object that hides the one in a pack', async () => {
      const before = await readNode(ann, node)
      const blob = node.git.say('rev-parse', 'main:content.md')
      const person = await meanwhile(async () => {
        node.git.say('repack', '-adq')
        await mkdir(dirname(objectFile(blob)), { recursive: true })
        await writeFile(objectFile(blob), '')
      })
      await until(() => said('removed empty objects').length > 0)
      expect(await readNode(person, node)).to.deep.equal(before)
      expect(said('removed empty objects')[0]?.objects).to.deep.equal([blob])
      await expectSound(grove.dataDir)
    })

    it('HEAD and config', async () => {
      const before = await readNode(ann, node)
      const person = await meanwhile(async () => {
        await rm(join(node.git.dir, 'HEAD'))
        await writeFile(join(node.git.dir, 'config'), '')
        await writeFile(join(neighbour.git.dir, 'HEAD'), 'garbage\n')
        await writeFile(join(neighbour.git.dir, 'config'), '[core\ngarbage')
      })
      await until(() => said('wrote anew').length === 2)
      expect(await readNode(person, node)).to.deep.equal(before)
      expect((await readNode(person, neighbour)).map(({ status }) => status)).to.deep.equal(Array(6).fill(200))
      await expectSound(grove.dataDir)
    })

    it('old locks, temporary files and quarantines; young ones stay', async () => {
      const names = [
        'packed-refs.lock',
        'config.lock',
        'refs/heads/main.lock',
        'refs/heads/.tmp-main-0123',
        'objects/ab/tmp_obj_0123',
        'objects/pack/tmp_pack_0123',
        'objects/pack/.tmp-17-pack-0123.pack',
        'objects/tmp_objdir-incoming-0123/pack/tmp_pack_0123',
        'quarantine-0123/objects/ab/cd',
        `../tmp-${'01'.repeat(8)}/HEAD`,
      ]
      const last = join(grove.dataDir, ann.org, 'org.git/HEAD.lock')
      const young: string[] = []
      let orphan = ''
      const person = await meanwhile(async () => {
        for (const name of names) await leave(join(node.git.dir, name), true)
        for (const name of names) young.push(await leave(join(neighbour.git.dir, name.replace('01', '23')), false))
        // A power cut took the folder of its owner.
        orphan = await leave(
          join(node.git.dir, 'refs/heads/orphan.lock'),
          true,
          'grove gone/1\n{"note":"","locks":[]}\n',
        )
        await leave(last, true)
      })
      await until(() => !existsSync(last))
      expect(existsSync(orphan)).to.equal(false)
      expect(names.filter((name) => existsSync(join(node.git.dir, name)))).to.deep.equal([])
      expect(young.filter((path) => !existsSync(path))).to.deep.equal([])
      expect((await person.post(`${node.at}/tree/main/commits`, commitOf('Goes on'))).status).to.equal(201)
      const { status, body } = await person.post(`${neighbour.at}/tree/main/commits`, commitOf('Waits'))
      expect([status, body.code]).to.deep.equal([503, 'busy'])
      expect((await person.get(`${neighbour.at}/branches`)).body.branches).to.have.length(1)
      for (const path of young) await rm(path, { force: true })
      await expectSound(grove.dataDir)
    })
  })

  describe('stays 503 alone, all others go on, and heals where it is mended under the service:', () => {
    const damages: Record<string, () => Promise<() => Promise<unknown>>> = {
      'one bit of an object': async () => {
        const file = objectFile(node.git.say('rev-parse', 'main^{tree}'))
        return changed(file, (bytes) => {
          bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1)
          return bytes
        })
      },
      'an empty object that is nowhere else': () => changed(objectFile(node.git.head()), () => Buffer.alloc(0)),
      'a pack that is cut in half': async () => {
        const [pack = ''] = await packs('.pack')
        return changed(pack, (bytes) => bytes.subarray(0, 100))
      },
      'a pack without its index': async () => moved((await packs('.idx'))[0] ?? ''),
      'a ref that says something else': () =>
        changed(join(node.git.dir, 'refs/grove/ledger'), () => Buffer.from('x\n')),
      'packed refs that are cut off': async () => {
        node.git.say('pack-refs', '--all', '--prune')
        return changed(join(node.git.dir, 'packed-refs'), (bytes) => bytes.subarray(0, bytes.length - 60))
      },
    }
    for (const [title, damage] of Object.entries(damages)) {
      it(title, async () => {
        const before = await readNode(ann, node)
        let mend = async (): Promise<unknown> => undefined
        const person = await meanwhile(async () => {
          mend = await damage()
        })
        const answers = await readNode(person, node)
        const refused = answers.filter(({ status }) => status !== 200)
        expect(refused.map(({ status, body }) => `${status} ${body.code}`)).to.include('503 repo_damaged')
        expect(new Set(refused.map(({ status, body }) => `${status} ${body.code}`)).size).to.equal(1)
        expect(Number(refused[0]?.headers['retry-after'])).to.be.greaterThan(0)
        await expectOthers(person)
        await mend()
        expect(await readNode(person, node)).to.deep.equal(before)
        await expectOthers(person)
      })
    }
  })

  it('is not there where a file has taken its place, and is again once that has gone', async () => {
    const before = await readNode(ann, node)
    const aside = join(grove.dataDir, 'aside')
    const person = await meanwhile(async () => {
      await rename(node.git.dir, aside)
      await writeFile(node.git.dir, '')
    })
    for (const { status, body } of await readNode(person, node))
      expect([status, body.code]).to.deep.equal([404, 'node_not_found'])
    await expectOthers(person)
    await rm(node.git.dir)
    await rename(aside, node.git.dir)
    expect(await readNode(person, node)).to.deep.equal(before)
  })

  it('takes its organisation along where that one’s own is damaged and the index gone, and no other', async () => {
    const bob = await signUp(grove, 'Bob')
    const bobs = await newNode(grove, bob)
    let mend = async (): Promise<unknown> => undefined
    const person = await meanwhile(async () => {
      for (const name of await readdir(grove.dataDir))
        if (name.startsWith('index.sqlite')) await rm(join(grove.dataDir, name))
      mend = await changed(join(grove.dataDir, ann.org, 'org.git/refs/heads/main'), () => Buffer.from('x\n'))
    })
    for (const path of [`/orgs/${ann.org}`, node.at, `/orgs/${ann.org}/nodes`]) {
      const { status, body } = await person.get(path)
      expect([status, body.code]).to.deep.equal([503, 'repo_damaged'])
    }
    const other = client(grove, bob.session.accessToken)
    for (const path of [bobs.at, `/orgs/${bob.org}/nodes`, `/orgs/${bob.org}`, '/orgs'])
      expect((await other.get(path)).status).to.equal(200)
    await mend()
    expect((await person.get(node.at)).status).to.equal(200)
    expect((await person.get(`/orgs/${ann.org}`)).status).to.equal(200)
  })

  it('stands in the log once, however often the sweep comes by, and once when it can be read again', async () => {
    let mend = async (): Promise<unknown> => undefined
    await meanwhile(async () => {
      mend = await changed(join(node.git.dir, 'refs/grove/ledger'), () => Buffer.from('x\n'))
    }, fastClock)
    await until(() => said('cannot be read').length > 0)
    // Some fifteen sweeps.
    await sleep(3_000)
    expect(said('cannot be read')).to.have.length(1)
    await mend()
    await until(() => said('can be read again').length > 0)
    expect(said('cannot be read')).to.have.length(1)
  })

  it('is judged by the clock of the file system: one’s own may go wrong', async () => {
    const wrong = preload('const now = Date.now; Date.now = () => now() + 3600_000')
    const person = await meanwhile(() => leave(join(node.git.dir, 'refs/heads/main.lock'), false), wrong)
    const { status, body } = await person.post(`${node.at}/tree/main/commits`, commitOf('Waits'))
    expect([status, body.code]).to.deep.equal([503, 'busy'])
    expect(existsSync(join(node.git.dir, 'refs/heads/main.lock'))).to.equal(true)
  })

  it('keeps nobody waiting by an empty lock that is older than the machine’s last start', async () => {
    const justStarted = preload(
      'import os from "node:os"; import { syncBuiltinESMExports } from "node:module"; os.uptime = () => 60; syncBuiltinESMExports()',
    )
    const lock = join(node.git.dir, 'refs/heads/main.lock')
    const person = await meanwhile(async () => {
      await writeFile(lock, '')
      await utimes(lock, new Date(Date.now() - 120_000), new Date(Date.now() - 120_000))
    }, justStarted)
    expect((await person.post(`${node.at}/tree/main/commits`, commitOf('Goes on'))).status).to.equal(201)
  })

  function objectFile(oid: string): string {
    return join(node.git.dir, 'objects', oid.slice(0, 2), oid.slice(2))
  }

  async function packs(end: string): Promise<string[]> {
    node.git.say('repack', '-adq')
    const folder = join(node.git.dir, 'objects/pack')
    return (await readdir(folder)).filter((name) => name.endsWith(end)).map((name) => join(folder, name))
  }

  async function expectOthers(person: Client): Promise<void> {
    expect((await readNode(person, neighbour)).map(({ status }) => status)).to.deep.equal(Array(6).fill(200))
    expect(
      (await person.post(`${neighbour.at}/tree/main/commits`, commitOf(`Beside it ${++written}`))).status,
    ).to.equal(201)
    expect((await person.get(`/orgs/${ann.org}/nodes`)).status).to.equal(200)
    expect((await person.patch(`/orgs/${ann.org}`, { published: true })).status).to.equal(200)
    expect((await client(grove).get(`/public/orgs/${ann.org}/graph`)).status).to.equal(200)
    const found = await person.post(`/orgs/${ann.org}/search/retrieve`, { query: 'whales' })
    expect(found.status).to.equal(200)
  }

  /** The lines of the log that say so. */
  function said(what: string): Record<string, unknown>[] {
    const lines = grove
      .output()
      .stderr.split('\n')
      .filter((line) => line.startsWith('{'))
    return lines.map((line) => JSON.parse(line)).filter(({ msg }) => String(msg).includes(what))
  }
})

/** Everything that reads a node in another way. */
async function readNode(person: Client, { at }: TestNode) {
  const paths = [
    '',
    '/branches',
    '/tree/main/commits',
    '/tree/main',
    '/tree/main/files/content.md',
    '/pull-requests?status=all',
  ]
  return Promise.all(paths.map((path) => person.get(at + path)))
}

/** For a child: runs this before anything else. */
function preload(script: string): Record<string, string> {
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` }
}

/** A minute of the sweep's passes in a fifth of a second. */
const fastClock = preload(`
  import timers from 'node:timers/promises'
  import { syncBuiltinESMExports } from 'node:module'
  const now = performance.now.bind(performance)
  performance.now = () => now() * 300
  const { setTimeout } = timers
  timers.setTimeout = (ms, ...more) => setTimeout(ms / 300, ...more)
  syncBuiltinESMExports()`)

/** @throws Error where it does not come to hold */
async function until(holds: () => boolean): Promise<void> {
  for (let attempt = 0; !holds(); attempt++) {
    if (attempt === 1000) throw new Error(`This never came to hold: ${holds}`)
    await sleep(20)
  }
}

/** A file that somebody was writing, three hours ago or just now; its path. */
async function leave(path: string, isOld: boolean, content = ''): Promise<string> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, content)
  if (!isOld) return path
  const then = new Date(Date.now() - 3 * 3_600_000)
  // A folder that is made with it is as old.
  const made = /^(.*\/(?:tmp_objdir-|quarantine-|tmp-)[^/]*)\//.exec(path)?.[1] ?? path
  for (let one = path; one.length >= made.length; one = dirname(one)) await utimes(one, then, then)
  return path
}

/** Changes what is in a file; the answer puts it back. */
async function changed(path: string, change: (bytes: Buffer) => Buffer): Promise<() => Promise<void>> {
  const before = await readFile(path)
  await chmod(path, 0o644)
  await writeFile(path, change(Buffer.from(before)))
  return () => writeFile(path, before)
}

async function moved(path: string): Promise<() => Promise<void>> {
  await rename(path, `${path}.aside`)
  return () => rename(`${path}.aside`, path)
}
