/** Nodes with many edges: what is not changed is not read again. */

import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

describe('a node with many connections', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let desk: Desk
  let other: TestNode

  before(async () => {
    desk = await newDesk()
    other = await newNode(grove, ann)
  })
  after(() => desk.remove())

  const count = 300
  const connections = async (node: TestNode) => {
    const pages = [0, 200].map((offset) =>
      ann.get(`${node.at}/connections?limit=200&offset=${offset}`).then(expecting(200)),
    )
    return (await Promise.all(pages)).flatMap(({ body }) => body.connections)
  }

  /** A node whose connections the service has read, and whose files it cannot read any more. */
  async function unreadable(): Promise<{ node: TestNode; restore: () => void }> {
    const node = await newNode(grove, ann)
    const edge = (n: number) => JSON.stringify({ target: other.id, label: `label ${n}` })
    const files = Object.fromEntries(Array.from({ length: count }, (_, n) => [`connections/c${n}.json`, edge(n)]))
    node.git.point('main', node.git.commit({ files, parents: [node.git.head()] }))
    expect(await connections(node)).to.have.length(count)
    const blobs = node.git.lines('ls-tree', '--format=%(objectname)', 'main:connections')
    const paths = blobs.map((oid) => join('objects', oid.slice(0, 2), oid.slice(2)))
    const move = (from: string, to: string) => {
      for (const path of paths) {
        if (!existsSync(join(from, path))) throw new Error(`There is no ${path} in ${from}`)
        mkdirSync(dirname(join(to, path)), { recursive: true })
        renameSync(join(from, path), join(to, path))
      }
    }
    const aside = join(desk.dir, node.id)
    move(node.git.dir, aside)
    return { node, restore: () => move(aside, node.git.dir) }
  }

  it.deep('takes a commit that concerns none of them without reading them', async () => {
    const { node, restore } = await unreadable()
    await node.commit('main', { 'a.txt': 'a' })
    await ann.patch(node.at, { title: 'Dolphins' }).then(expecting(200))
    expect(await connections(node)).to.have.length(count)
    restore()
    node.git.fsck()
  })

  it('takes one more, one less and one that is changed without reading the others', async () => {
    const { node, restore } = await unreadable()
    const { id } = (await ann.post(`${node.at}/connections`, { target: other.id }).then(expecting(201))).body
    await ann.delete(`${node.at}/connections/c7`).then(expecting(204))
    await ann.patch(`${node.at}/connections/c8`, { label: 'Changed' }).then(expecting(200))
    const found: { id: string; label: string }[] = await connections(node)
    expect(found).to.have.length(count)
    expect(found.map((one) => one.id))
      .to.include(id)
      .and.not.include('c7')
    expect(found.find((one) => one.id === 'c8')).to.include({ label: 'Changed' })
    expect(found.find((one) => one.id === 'c9')).to.include({ label: 'label 9' })
    restore()
    node.git.fsck()
  })

  it.deep('refuses more than 10,000, and says so', async () => {
    const node = await newNode(grove, ann)
    const REMOTE = remoteUrl(grove, node.org, node.id, ann.session.accessToken)
    const { code, text } = await desk.sh(
      `git clone -q $REMOTE many; cd many
      BLOB=$(echo '{"target": "${other.id}"}' | git hash-object -w --stdin)
      seq 10001 | sed "s|.*|100644 $BLOB 0\\tconnections/c&.json|" | git update-index --index-info
      git commit -q -m Many; git push -q origin main`,
      { REMOTE },
    )
    expect(code, text).to.equal(1)
    expect(text).to.include('(connections: A node cannot have more than 10000 connections)')
    expect(await connections(node)).to.deep.equal([])
  })
})
