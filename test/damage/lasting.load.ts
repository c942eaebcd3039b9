/** Damage that stays until it is mended under the service. */

import { chmod, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { commitOf } from '../support/concurrency-rules.ts'
import { newNode } from '../support/node.ts'
import { type Client, client, signUp } from '../support/people.ts'
import { preload } from '../support/preload.ts'
import { until } from '../support/until.ts'
import { ann, grove, meanwhile, neighbour, node, objectFile, readNode, said, useScene } from './scene.ts'

describe('a repository that was damaged while nothing ran', () => {
  useScene()

  let written = 0

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
      'a bit here and there in a small pack': async () => {
        const [pack = ''] = await packs('.pack')
        return changed(pack, (bytes) => Buffer.from(bytes.map((byte, at) => (at % 16 === 4 ? byte ^ 1 : byte))))
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

  it('is not there if a file has taken its place, and is again once that has gone', async () => {
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

  it('takes its organisation along if that one’s own is damaged and the index gone, and no other', async () => {
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
    const before = said('the ref was read').length
    await until(() => said('the ref was read').length > before + 10)
    expect(said('cannot be read')).to.have.length(1)
    await mend()
    await until(() => said('can be read again').length > 0)
    expect(said('cannot be read')).to.have.length(1)
  })
})

/** A minute of the sweep's passes in a fifth of a second; it says so when it reads a ref that says x. */
const fastClock = preload(`
  import fs from 'node:fs'
  import timers from 'node:timers/promises'
  import { syncBuiltinESMExports } from 'node:module'
  const now = performance.now.bind(performance)
  performance.now = () => now() * 300
  const { setTimeout } = timers
  timers.setTimeout = (ms, ...more) => setTimeout(ms / 300, ...more)
  const { readFileSync } = fs
  fs.readFileSync = (...asked) => {
    const text = readFileSync(...asked)
    if (String(text) === 'x\\n') process.stderr.write('{"msg":"the ref was read"}\\n')
    return text
  }
  syncBuiltinESMExports()`)

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
