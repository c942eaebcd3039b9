/** The answers about a repository that lacks an object, or has another one. */

import { randomBytes } from 'node:crypto'
import { copyFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { expect } from 'chai'
import { looseFile } from '../support/git.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

describe('a repository that lacks something', () => {
  // What is logged of the faults is not shown.
  const { grove, ann } = useWorld({ ann: 'owner' }, { logLevel: 'error', sweeps: false })
  let node: TestNode

  before(async () => {
    node = await newNode(grove, ann)
  })

  const fileOf = (oid: string) => looseFile(node.git, oid)
  const code = async (path: string, headers = {}) => (await ann.get(node.at + path, headers)).body.code

  it('is damaged, and is well again once it is repaired', async () => {
    const first = await node.commit('main', { 'a.txt': 'one\n' })
    await node.commit('main', { 'a.txt': 'two\n' })
    const { git } = node
    const asked: Record<string, readonly [lost: string, headers?: object]> = {
      '/commits/main/diff': ['main:a.txt'],
      '/commits/main/diff?path=a.txt': ['main:a.txt', { accept: 'text/x-diff' }],
      [`/compare?base=${first}&head=main&text=true&path=a.txt`]: [`${first}:a.txt`],
      '/tree/main/commits?path=a.txt': [`${first}^{tree}`],
      '/tree/main/blame/a.txt': [`${first}:a.txt`],
      '/tree/main/raw/a.txt': ['main:a.txt'],
    }
    for (const [path, [lost, headers]] of Object.entries(asked)) {
      const file = fileOf(git.say('rev-parse', lost))
      await rename(file, `${file}.aside`)
      expect(await code(path, headers), path).to.equal('repo_damaged')
      await rename(`${file}.aside`, file)
      expect(await code(path, headers), path).to.equal(undefined)
    }
  })

  it('is read as far as its history goes if it is shallow', async () => {
    const { git } = node
    const [head = '', parent = ''] = git.log()
    await writeFile(join(git.dir, 'shallow'), `${parent}\n`)
    const blame = (await ann.get(`${node.at}/tree/${head}/blame/a.txt`)).body
    expect(blame.ranges.map(({ commit_id }: { commit_id: string }) => commit_id)).to.deep.equal([head])
    expect((await ann.get(`${node.at}/commits/${head}/diff`)).body.total).to.equal(1)
    await rm(join(git.dir, 'shallow'))
  })

  it('breaks off a large file whose bytes are others, before its end', async () => {
    const { git } = node
    const bytes = randomBytes(3 * 1_048_576)
    git.point('dev', git.commit({ files: { large: bytes }, parents: [git.head()] }))
    const file = fileOf(git.say('rev-parse', 'dev:large'))
    await copyFile(file, `${file}.aside`)
    await rm(file)
    const others = Buffer.from(bytes)
    others.writeUInt8(others.readUInt8(2_000_000) ^ 1, 2_000_000)
    await writeFile(file, deflateSync(Buffer.concat([Buffer.from(`blob ${others.length}\0`), others])))
    const headers = { authorization: `Bearer ${ann.session.accessToken}` }
    const read = () =>
      fetch(`${grove.url}${node.at}/tree/dev/raw/large`, { headers }).then((answer) => answer.arrayBuffer())
    const error = await read().catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(TypeError)
    await rm(file)
    await rename(`${file}.aside`, file)
    expect(Buffer.from(await read()).equals(bytes)).to.equal(true)
  })
})
