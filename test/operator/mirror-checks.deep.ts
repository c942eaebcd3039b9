/** Which mirrors `grove backup` has git look at again. */

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { countMoves } from '../../index/derived/change-log.ts'
import { remoteUrl } from '../support/desk.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { cli, folder, run, useDesk } from './desk.ts'

describe('a backup into the same folder', () => {
  useDesk()
  let grove: Grove
  let ann: PersonClient
  let nodes: TestNode[]
  let backup: string
  let bin: string

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    nodes = [await newNode(grove, ann), await newNode(grove, ann), await newNode(grove, ann)]
    bin = await folder()
    const git = execFileSync('which', ['git']).toString().trim()
    await writeFile(join(bin, 'git'), `#!/bin/sh\necho "$GIT_DIR $*" >>'${bin}/log'\nexec '${git}' "$@"\n`)
    await chmod(join(bin, 'git'), 0o755)
  })
  beforeEach(async () => {
    backup = join(await folder(), 'backup')
    expect(await gitsOf()).to.have.length.above(nodes.length)
  })
  after(() => grove.close())

  /** Backs up; the repositories that a git was started in. */
  async function gitsOf(...options: string[]): Promise<string[]> {
    await rm(join(bin, 'log'), { force: true })
    const env = {
      DATA_DIR: grove.dataDir,
      LOG_LEVEL: 'warn',
      UV_THREADPOOL_SIZE: '16',
      PATH: `${bin}:${process.env.PATH}`,
    }
    const { code, stdout, stderr } = await run(process.execPath, ['dist/cli.js', 'backup', ...options, backup], env)
    if (code !== 0) throw new Error(`${stdout}${stderr}`)
    const log = existsSync(join(bin, 'log')) ? await readFile(join(bin, 'log'), 'utf8') : ''
    const found = log.matchAll(/[0-9a-f-]{36}\/(?:[0-9a-f-]{36}|org)\.git/g)
    return [...new Set([...found].map(([path]) => path))].sort()
  }

  const pathOf = ({ org, id }: TestNode) => `${org}/${id}.git`

  /** A file of the repository in `root` in which git finds another byte: the largest of its objects or packs. */
  async function objectsOf(node: TestNode, root = backup): Promise<string> {
    const entries = await readdir(join(root, pathOf(node), 'objects'), { withFileTypes: true, recursive: true })
    const files = entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.idx'))
    const sized = await Promise.all(
      files.map(async ({ parentPath, name }) => {
        const path = join(parentPath, name)
        return { path, size: (await stat(path)).size }
      }),
    )
    const [largest] = sized.sort((a, b) => b.size - a.size)
    if (largest === undefined) throw new Error('It has no objects')
    return largest.path
  }

  function expectSound(node: TestNode): void {
    const fsck = ['--git-dir', join(backup, pathOf(node)), 'fsck', '--strict', '--no-progress']
    expect(execFileSync('git', fsck, { stdio: 'pipe' }).toString()).to.equal('')
  }

  it('has git look at nothing if nothing has changed', async () => {
    expect(await gitsOf()).to.deep.equal([])
    expect(await gitsOf()).to.deep.equal([])
  })

  it('continues a first backup that was interrupted, and copies no mirror again that is complete', async () => {
    const [lost] = nodes as [TestNode]
    // The manifest is written last.
    await rm(join(backup, 'manifest.json'))
    await rm(join(backup, pathOf(lost)), { recursive: true })
    expect(await gitsOf()).to.include.members(nodes.map(pathOf))
    const log = await readFile(join(bin, 'log'), 'utf8')
    const copies = [...log.matchAll(/ fetch .*| pack-objects [^}]*}\nf each .*/g)].map(([words]) => words)
    expect(copies).to.have.length(1)
    expect(copies[0]).to.include(pathOf(lost))
    for (const node of nodes) expectSound(node)
    expect(await gitsOf()).to.deep.equal([])
  })

  it('has git look at what has got a commit, or another ref', async () => {
    const [one, other] = nodes as [TestNode, TestNode]
    await one.commit('main', { 'a.txt': 'more\n' })
    await other.branch('draft')
    expect(await gitsOf()).to.deep.equal([pathOf(one), pathOf(other)].sort())
    expect(await gitsOf()).to.deep.equal([])
  })

  it('has git look at what has got a tag, by a push or by another git in the data folder, then with --full', async () => {
    const [one, other] = nodes as [TestNode, TestNode]
    const url = remoteUrl(grove, one.org, one.id, ann.session.accessToken)
    const pushed = await run('git', ['--git-dir', one.git.dir, 'push', url, 'main:refs/tags/v1'])
    expect(pushed.code).to.equal(0)
    expect(await gitsOf()).to.deep.equal([pathOf(one)])
    other.git.say('tag', 'v2', 'main')
    expect(await gitsOf()).to.deep.equal([])
    expect(await gitsOf('--full', '--jobs', '3')).to.include.members(nodes.map(pathOf))
    const tags = ['--git-dir', join(backup, pathOf(other)), 'tag', '--list']
    expect(execFileSync('git', tags).toString()).to.equal('v2\n')
    expect(await gitsOf()).to.deep.equal([])
  })

  it('takes a mirror again that is gone, and one that the index knows nothing of as before', async () => {
    const [one, other] = nodes as [TestNode, TestNode]
    await rm(join(backup, pathOf(one)), { recursive: true })
    expect(await gitsOf()).to.deep.equal([pathOf(one)])
    expectSound(one)
    await grove.deps.index.write(async (trx) => {
      await trx.deleteFrom('ref_moves').execute()
    })
    expect(await gitsOf()).to.deep.equal([])
    await rm(await objectsOf(other))
    expect(await gitsOf()).to.deep.equal([pathOf(other)])
    expectSound(other)
    const ids = nodes.map(({ id }) => id)
    await grove.deps.index.write((trx) => countMoves(trx, one.org, ids))
  })

  it('refuses an invalid number of jobs', async () => {
    for (const jobs of ['0', '65', '1.5', 'many']) {
      const failed = await gitsOf('--jobs', jobs).catch((error: unknown) => String(error))
      expect(failed).to.contain('--jobs must be a whole number from 1 to 64')
    }
  })

  it('heals with --full a mirror of which a file was changed, removed or added', async () => {
    const [one, other, third] = nodes as [TestNode, TestNode, TestNode]
    const file = await objectsOf(one)
    await chmod(file, 0o600)
    await writeFile(file, flipped(await readFile(file)))
    await rm(await objectsOf(other))
    await mkdir(join(backup, pathOf(third), 'refs/heads'), { recursive: true })
    await writeFile(join(backup, pathOf(third), 'refs/heads/more'), '')
    expect(await gitsOf()).to.deep.equal([])
    const { code, stdout } = await cli(grove.dataDir, 'backup', '--full', backup)
    expect(code).to.equal(0)
    expect(stdout).to.contain(' 0 of them changed since the last backup\n')
    const again = stdout
      .match(/^copied again, because its mirror was damaged: .*$/gm)
      ?.map((line) => line.split(': ')[1])
    expect(again).to.deep.equal(nodes.map(pathOf).sort())
    for (const node of nodes) expectSound(node)
    expect(await gitsOf()).to.deep.equal([])
  })

  it('names with --full what a disk has lost in the data folder, and again until it is mended', async () => {
    const [one] = nodes as [TestNode]
    const file = await objectsOf(one, grove.dataDir)
    const whole = await readFile(file)
    await chmod(file, 0o600)
    await writeFile(file, flipped(Buffer.from(whole)))
    try {
      for (const options of [['--full'], []]) {
        const { code, stdout } = await cli(grove.dataDir, 'backup', ...options, backup)
        expect(code).to.equal(1)
        expect(stdout).to.match(
          new RegExp(`^1 problem found:\n  ${pathOf(one)}: git fsck: .*; its mirror is intact$`, 'm'),
        )
        expectSound(one)
      }
    } finally {
      await writeFile(file, whole)
    }
    expect(await gitsOf()).to.deep.equal([pathOf(one)])
    expect(await gitsOf()).to.deep.equal([])
  })

  it('finds after a week what a disk has lost without a trace', async () => {
    const [one] = nodes as [TestNode]
    const file = await objectsOf(one)
    const { atime, mtime } = await stat(file)
    await chmod(file, 0o600)
    await writeFile(file, flipped(await readFile(file)))
    await utimes(file, atime, mtime)
    const manifest = JSON.parse(await readFile(join(backup, 'manifest.json'), 'utf8'))
    const mirror = manifest.repositories.find(({ path }: { path: string }) => path === pathOf(one))
    mirror.checked.at = new Date(Date.parse(mirror.checked.at) - 7 * 24 * 3_600_000).toISOString()
    await writeFile(join(backup, 'manifest.json'), JSON.stringify(manifest))
    expect(await gitsOf()).to.deep.equal([pathOf(one)])
    expectSound(one)
    expect(await gitsOf()).to.deep.equal([])
  })
})

function flipped(bytes: Buffer): Buffer {
  const at = bytes.length >> 1
  bytes[at] = (bytes[at] ?? 0) ^ 1
  return bytes
}
