/** Tags on what is large: they hold up neither the list of tags nor the blobs that the public may read. */

import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { expect } from 'chai'
import { hasObject, readInfo } from '../../gitstore/objects/objects.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type Client, client, type PersonClient, signUp } from '../support/people.ts'

describe('tags of large things', () => {
  let grove: Grove
  let ann: PersonClient
  let anybody: Client

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    anybody = client(grove)
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
  })
  after(() => grove.close())

  function tag(node: TestNode, name: string, oid: string): void {
    mkdirSync(join(node.git.dir, 'refs/tags'), { recursive: true })
    writeFileSync(join(node.git.dir, 'refs/tags', name), `${oid}\n`)
  }

  function blob(node: TestNode, bytes: Buffer | string): string {
    return node.git
      .run(['hash-object', '-w', '--stdin'], { input: Buffer.from(bytes) })
      .toString()
      .trim()
  }

  function tree(node: TestNode, lines: readonly string[]): string {
    return node.git
      .run(['mktree', '--missing'], { input: `${lines.join('\n')}\n` })
      .toString()
      .trim()
  }

  function tagTree(node: TestNode, name: string, tree: string): void {
    tag(node, name, node.git.say('commit-tree', tree, '-m', name))
  }

  /** A file that begins as a blob of 3 MB and does not go on: only who reads it whole sees that. */
  function tornBlob(node: TestNode): string {
    const oid = 'ab'.repeat(20)
    mkdirSync(join(node.git.dir, 'objects/ab'), { recursive: true })
    const bytes = deflateSync(Buffer.concat([Buffer.from('blob 3000000\0'), randomBytes(10_000)]))
    writeFileSync(join(node.git.dir, 'objects/ab', oid.slice(2)), bytes)
    return oid
  }

  it('what an object is can be asked without its content', async () => {
    const node = await newNode(grove, ann)
    const torn = tornBlob(node)
    expect(await readInfo(node.git, torn)).to.deep.equal({ type: 'blob', size: 3_000_000 })
    expect(await hasObject(node.git, torn)).to.equal(true)
    expect(await hasObject(node.git, 'cd'.repeat(20))).to.equal(false)
  })

  it('a tag on a blob is listed, and hinders nothing, without the blob being read', async () => {
    const node = await newNode(grove, ann, { text_content: 'Whales' })
    const [torn, large] = [tornBlob(node), blob(node, Buffer.alloc(34_000_000))]
    tag(node, 'torn', torn)
    tag(node, 'large', large)
    expect((await ann.get(`${node.at}/tags`).then(expecting(200))).body.tags).to.deep.equal([
      { name: 'large', object_id: large },
      { name: 'torn', object_id: torn },
    ])
    const head = node.git.head()
    expect((await ann.get(`${node.at}/compare?base=${head}&head=main`)).status).to.equal(200)
    const text = node.git.say('rev-parse', 'main:content.md')
    expect(await anybody.get(`${node.at}/objects/${text}`)).to.deep.equal({ status: 200, body: 'Whales' })
    expect((await anybody.get(`${node.at}/objects/${large}`)).status).to.equal(404)
  })

  it('so it is where the blob is packed, and where other tags lie between', async () => {
    const node = await newNode(grove, ann)
    const large = blob(node, Buffer.alloc(34_000_000))
    node.git.say('tag', '-m', 'Inner', 'inner', large)
    node.git.say('tag', '-m', 'Outer', 'outer', 'refs/tags/inner')
    node.git.say('tag', '-m', 'Main', 'release', 'main')
    node.git.say('repack', '-adq')
    const { tags } = (await anybody.get(`${node.at}/tags`).then(expecting(200))).body
    expect(tags.map((one: object) => ({ ...one, object_id: undefined }))).to.deep.equal([
      { name: 'inner', object_id: undefined },
      { name: 'outer', object_id: undefined },
      { name: 'release', object_id: undefined, commit_id: node.git.head() },
    ])
  })

  it('a tag with more paths than are listed hides no blob of another tag, nor makes unknown ids anything but 404', async () => {
    const node = await newNode(grove, ann)
    const names = Array.from({ length: 320 }, (_, n) => `${n}`.padStart(3, '0'))
    const leaf = tree(
      node,
      names.map((name) => `100644 blob ${blob(node, 'x')}\t${name}`),
    )
    const folders = (inner: string) =>
      tree(
        node,
        names.map((name) => `040000 tree ${inner}\t${name}`),
      )
    // 32 million paths in three trees: each is looked at once.
    tagTree(node, 'bomb', folders(folders(leaf)))
    const after = blob(node, 'after')
    tagTree(node, 'later', tree(node, [`100644 blob ${after}\tafter`]))
    expect(await anybody.get(`${node.at}/objects/${after}`)).to.deep.equal({ status: 200, body: 'after' })
    expect((await anybody.get(`${node.at}/objects/${blob(node, 'hidden')}`)).status).to.equal(404)
    expect((await anybody.get(`${node.at}/objects/${'1'.repeat(40)}`)).status).to.equal(404)
    node.git.say('tag', '-d', 'later')
    expect((await anybody.get(`${node.at}/objects/${after}`)).status).to.equal(404)
  })

  it('where tags hold over 200,000 different files, those of main are found, and the answer to others says what to do', async () => {
    const node = await newNode(grove, ann, { text_content: 'Whales' })
    for (const name of ['a', 'b']) {
      const ids = randomBytes(100_001 * 20).toString('hex')
      const lines = Array.from({ length: 100_001 }, (_, n) => `100644 blob ${ids.slice(40 * n, 40 * n + 40)}\t${n}`)
      tagTree(node, name, tree(node, lines))
    }
    const text = node.git.say('rev-parse', 'main:content.md')
    expect((await anybody.get(`${node.at}/objects/${text}`)).status).to.equal(200)
    expect(await anybody.get(`${node.at}/objects/${'1'.repeat(40)}`)).to.deep.equal({
      status: 413,
      body: {
        code: 'too_large',
        detail:
          'The tags of this node have too many files to find one by its id; read it by its path, tree/{revision}/files/{path}',
      },
    })
  })
})
