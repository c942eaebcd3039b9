/** The first backup of many repositories, which are copied together. Git is the oracle. */

import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { startGroveCommand } from '../support/command.ts'
import { git, gitLines, repositoriesIn } from '../support/data-folder.ts'
import { fsckWords, looseFile } from '../support/git.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { preload } from '../support/preload.ts'
import { cli, folder, seed, startLoad, useDesk } from './desk.ts'

describe('a first backup', () => {
  useDesk()
  let grove: Grove
  let ann: PersonClient
  let bob: PersonClient
  let backup: string

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    bob = await signUp(grove, 'Bob')
    await seed(grove, ann)
    const nodes = Array.from({ length: 60 }, (_, at) => ({ title: `Page ${at}`, text_content: `Text ${at}.` }))
    await ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes }).then(expecting(201))
  })
  after(() => grove.close())
  beforeEach(async () => {
    backup = join(await folder(), 'backup')
  })

  const pathOf = ({ org, id }: TestNode) => `${org}/${id}.git`
  const refsOf = (repo: string) => gitLines(repo, 'for-each-ref', '--format=%(refname) %(objectname)')
  /** The path of each mirror below the folder. */
  const mirrors = async () => (await repositoriesIn(backup)).map((path) => path.slice(backup.length + 1)).sort()
  const sources = async (dir = grove.dataDir) =>
    (await repositoriesIn(dir)).map((path) => path.slice(dir.length + 1)).sort()

  async function expectSound(): Promise<void> {
    for (const path of await repositoriesIn(backup)) expect(await git(path, ...fsckWords(path)), path).to.equal('')
  }

  /** Checks that all mirrors are sound. Checks that these have the refs of their sources, and only what they reach. */
  async function expectCopied(paths: readonly string[], dir = grove.dataDir): Promise<void> {
    await expectSound()
    for (const path of paths) {
      const mirror = join(backup, path)
      expect(await refsOf(mirror), path).to.deep.equal(await refsOf(join(dir, path)))
      expect(await git(mirror, ...fsckWords(mirror), '--unreachable'), path).to.equal('')
    }
  }

  async function expectComplete(): Promise<void> {
    const { code, stdout } = await cli(grove.dataDir, 'backup', backup)
    expect(code, stdout).to.equal(0)
    expect(await mirrors()).to.deep.equal(await sources())
    await expectCopied(await sources())
  }

  /** A `git` that first runs this script of a shell. */
  async function gitAfter(script: string): Promise<Record<string, string>> {
    const bin = await folder()
    const rest = 'PATH=$(echo "$PATH" | cut -d: -f2-) exec git "$@"'
    await writeFile(join(bin, 'git'), `#!/bin/sh\n${script}\n${rest}\n`, { mode: 0o755 })
    return { PATH: `${bin}:${process.env.PATH}` }
  }

  /** Runs `change` before objects are copied. Their refs have been read. */
  async function backUpDuring(change: string): Promise<void> {
    const env = await gitAfter(`case " $* " in *" pack-objects "*) (${change}) >/dev/null 2>&1 || exit 99;; esac`)
    const { code, stdout, stderr } = await (await startGroveCommand(grove.dataDir, ['backup', backup], env)).finished
    expect(code, stdout + stderr).to.equal(0)
  }

  /** Backs up, and returns the sorted commands of all Git processes. */
  async function gitsOf(...options: string[]): Promise<string[]> {
    const trace = await folder()
    const env = await gitAfter(`export GIT_TRACE2_EVENT=${trace}`)
    const { finished } = await startGroveCommand(grove.dataDir, ['backup', ...options, backup], env)
    expect((await finished).code).to.equal(0)
    const started: string[] = []
    for (const file of await readdir(trace)) {
      const [, line = ''] = (await readFile(join(trace, file), 'utf8')).split('\n')
      started.push(JSON.parse(line).argv.find((word: string) => /^(fsck|pack-objects|each|fetch)$/.test(word)))
    }
    return started.sort()
  }

  it('starts one git process for each repository, and two for each 50', async () => {
    const { length } = await sources()
    // Four groups, two of pages and two of organisations. Each is packed by a shell, then checked.
    const few = ['each', 'each', 'each', 'each', 'fsck', 'fsck', 'fsck', 'fsck']
    expect(await gitsOf()).to.deep.equal([...few, ...Array(length).fill('pack-objects')])
    await expectCopied(await sources())
    await rm(join(backup, 'manifest.json'))
    // Each mirror and each repository is checked.
    const checks = [...Array(4).fill('each'), ...Array(2 * length).fill('fsck')]
    expect(await gitsOf(), 'after an interruption').to.deep.equal(checks)
    expect(await gitsOf('--full')).to.deep.equal(checks)
    expect(await gitsOf()).to.deep.equal([])
  })

  it('copies annotated tags, names of many bytes, and none of the objects that no ref reaches', async () => {
    const node = await newNode(grove, ann, { title: 'Names' })
    node.git.say('tag', '-a', '-m', 'one', 'v1', 'main')
    for (const name of ['\u{1F40B}', '\uFF5E', 'a/\u{1F40B}', 'a/\uFF5E']) node.git.say('branch', name, 'main')
    const lost = node.git.commit({ files: { 'secret.txt': 'nobody names this\n' } })
    await expectComplete()
    const mirror = join(backup, pathOf(node))
    for (const ref of node.git.lines('for-each-ref', '--format=%(refname)'))
      expect(await git(mirror, 'rev-parse', '--verify', ref)).to.equal(node.git.say('rev-parse', ref))
    expect(await git(mirror, 'rev-parse', 'v1^{commit}')).to.equal(node.git.head())
    expect(await git(mirror, 'cat-file', '-e', lost).catch(() => 'missing')).to.equal('missing')
    expect(await readdir(join(mirror, 'objects'))).to.deep.equal(['pack'])
    const clone = join(await folder(), 'clone.git')
    await git(mirror, 'clone', '-q', '--mirror', '--no-local', mirror, clone)
    expect(await refsOf(clone)).to.deep.equal(await refsOf(mirror))
    // Many tools copy no empty folders. Git needs this one.
    expect(await readdir(join(mirror, 'refs/grove'))).to.deep.equal(['ledger'])
  })

  it('continues after it was killed at any rename, and no mirror that has a name is incomplete', async () => {
    const all = (await sources()).length
    for (const at of [2, 5, 40, all + 1]) {
      await rm(backup, { recursive: true, force: true })
      const environment = preload(`
        import fs from 'node:fs'
        import { syncBuiltinESMExports } from 'node:module'
        const { renameSync } = fs
        let done = 0
        fs.renameSync = (...args) => {
          if (++done === ${at}) process.kill(process.pid, 'SIGKILL')
          return renameSync(...args)
        }
        syncBuiltinESMExports()`)
      const { child, finished } = await startGroveCommand(grove.dataDir, ['backup', backup], environment)
      await finished
      expect(child.signalCode).to.equal('SIGKILL')
      expect(existsSync(join(backup, 'manifest.json'))).to.equal(false)
      const named = await mirrors()
      expect(named).to.have.length.below(all)
      await expectCopied(named)
      await expectComplete()
    }
  })

  it('continues after it was killed while git packs or checks', async () => {
    for (const what of ['pack-objects', 'fsck']) {
      await rm(backup, { recursive: true, force: true })
      const hung = join(await folder(), 'hung')
      const once = `case "$*" in *"${what} "*) : >> ${hung}; [ $(wc -c < ${hung}) -lt 2 ] || exec sleep 60; printf x >> ${hung};; esac`
      const { child, finished } = await startGroveCommand(
        grove.dataDir,
        ['backup', '--jobs', '1', backup],
        await gitAfter(once),
      )
      while (!existsSync(hung) || (await stat(hung)).size < 2) await new Promise((wake) => setTimeout(wake, 20))
      child.kill('SIGKILL')
      await finished
      expect(existsSync(join(backup, 'manifest.json'))).to.equal(false)
      await expectCopied(await mirrors())
      await expectComplete()
    }
  })

  it('names what is damaged, makes no mirror of what git cannot copy, and copies the others', async () => {
    const other = await startGrove()
    const zoe = await signUp(other, 'Zoe')
    await newNode(other, zoe, { title: 'Intact' })
    const [flipped, missing, lying, malformed] = [
      await newNode(other, zoe, { title: 'Flipped' }),
      await newNode(other, zoe, { title: 'Missing' }),
      await newNode(other, zoe, { title: 'Lying' }),
      await newNode(other, zoe, { title: 'Malformed' }),
    ]
    await newNode(other, zoe, { title: 'Intact as well' })
    const folderOfPack = join(flipped.git.dir, 'objects/pack')
    const name = (await readdir(folderOfPack)).find((one) => one.endsWith('.pack')) ?? ''
    const pack = join(folderOfPack, name)
    const bytes = await readFile(pack)
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
    await chmod(pack, 0o600)
    await writeFile(pack, bytes)
    await missing.commit('main', { 'a.txt': 'gone soon\n' })
    const blob = missing.git.say('rev-parse', 'main:a.txt')
    await rm(looseFile(missing.git, blob))
    await lying.commit('main', { 'a.txt': 'one\n', 'b.txt': 'other\n' })
    const [one, another] = ['a.txt', 'b.txt'].map((path) =>
      looseFile(lying.git, lying.git.say('rev-parse', `main:${path}`)),
    )
    await rm(one ?? '')
    await copyFile(another ?? '', one ?? '')
    const commit = `tree ${malformed.git.say('rev-parse', 'main^{tree}')}\nauthor Zed 0 +0000\ncommitter Zed 0 +0000\n\nx\n`
    const odd = malformed.git.run(['hash-object', '-t', 'commit', '-w', '--literally', '--stdin'], { input: commit })
    malformed.git.say('update-ref', 'refs/heads/odd', odd.toString().trim())
    try {
      for (const isFirst of [true, false]) {
        const { code, stdout } = await cli(other.dataDir, 'backup', backup)
        expect(code).to.equal(1)
        expect(stdout).to.include('4 problems found:\n')
        expect(stdout).to.match(new RegExp(`  ${pathOf(flipped)}: git fetch: `))
        expect(stdout).to.match(new RegExp(`  ${pathOf(missing)}: git fetch: `))
        expect(stdout).to.match(new RegExp(`  ${pathOf(lying)}: git fetch: `))
        expect(stdout).to.match(new RegExp(`  ${pathOf(malformed)}: git fsck: .*missingEmail`))
        expect(stdout.includes('the first backup')).to.equal(isFirst)
      }
      const damaged = [flipped, missing, lying].map(pathOf)
      const copied = (await sources(other.dataDir)).filter((path) => !damaged.includes(path))
      expect(await mirrors()).to.deep.equal(copied)
      const manifest = JSON.parse(await readFile(join(backup, 'manifest.json'), 'utf8'))
      const checked = manifest.repositories.filter((one: { checked?: object }) => one.checked)
      const sound = copied.filter((path) => path !== pathOf(malformed))
      expect(checked.map(({ path }: { path: string }) => path).sort()).to.deep.equal(sound)
      await rm(join(backup, pathOf(malformed)), { recursive: true })
      await expectCopied(sound, other.dataDir)
    } finally {
      await other.close()
    }
  })

  it('copies again what the disk damages before git checks it', async () => {
    const done = join(await folder(), 'done')
    const packs = `$(ls ${backup}/*/tmp-*.git/objects/pack/*.pack | head -3)`
    const damage = `for pack in ${packs}; do chmod 600 $pack; printf damage | dd of=$pack bs=1 seek=99 conv=notrunc; done`
    const once = `case " $* " in *" fsck "*) [ -e ${done} ] || { : > ${done}; ${damage} 2>/dev/null; };; esac`
    const env = await gitAfter(once)
    const { code, stdout } = await (await startGroveCommand(grove.dataDir, ['backup', '--jobs', '1', backup], env))
      .finished
    expect(code, stdout).to.equal(0)
    expect(existsSync(done)).to.equal(true)
    expect(await mirrors()).to.deep.equal(await sources())
    await expectCopied(await sources())
    // A fetch writes each ref as a file. One of the nodes has no branch.
    const ofFetch = (await sources()).filter((path) => !existsSync(join(backup, path, 'packed-refs')))
    expect(ofFetch).to.have.length(3)
  })

  it('has the refs of one moment, and their objects, while a commit moves refs and objects are packed', async () => {
    const node = await newNode(grove, ann, { title: 'Moving' })
    await node.proposal('topic')
    const before = await refsOf(node.git.dir)
    const topic = node.git.head('topic')
    const next = node.git.commit({ parents: [node.git.head()], files: { 'b.txt': 'more\n' } })
    const moves = [`update-ref refs/heads/main ${next}`, 'update-ref -d refs/heads/topic', 'pack-refs --all']
    const packs = [...moves, 'repack -adkq', 'prune-packed'].map((words) => `git -C / ${words}`).join(' && ')
    await backUpDuring(`export GIT_DIR=${node.git.dir}; PATH=$(echo "$PATH" | cut -d: -f2-); ${packs}`)
    expect(node.git.head()).to.equal(next)
    const mirror = join(backup, pathOf(node))
    expect(await refsOf(mirror)).to.deep.equal(before)
    expect(await git(mirror, 'cat-file', '-t', topic)).to.equal('commit')
    await expectSound()
    // The service has not seen what another Git did.
    expect((await cli(grove.dataDir, 'backup', '--full', backup)).code).to.equal(0)
    expect(await refsOf(mirror)).to.deep.equal(await refsOf(node.git.dir))
    await expectSound()
  })

  it('takes the later refs if objects of the earlier ones are gone', async () => {
    const node = await newNode(grove, ann, { title: 'Pruned' })
    await node.proposal('topic')
    const topic = node.git.head('topic')
    const words = ['update-ref -d refs/heads/topic', 'repack -adq', 'prune --expire=now']
    const change = words.map((one) => `git -C / ${one}`).join(' && ')
    await backUpDuring(`export GIT_DIR=${node.git.dir}; PATH=$(echo "$PATH" | cut -d: -f2-); ${change}`)
    expect(await git(join(backup, pathOf(node)), 'cat-file', '-e', topic).catch(() => 'missing')).to.equal('missing')
    await expectCopied(await sources())
  })

  it('and another one at the same time, during work, leave complete mirrors', async () => {
    const load = startLoad(grove, bob)
    await load.until(3)
    const both = await Promise.all([1, 2].map(() => startGroveCommand(grove.dataDir, ['backup', backup])))
    for (const { finished } of both) expect((await finished).stdout).to.match(/^\d+ repositories in /)
    await expectSound()
    await load.stop()
    expect((await readdir(backup, { recursive: true })).filter((path) => path.includes('tmp-'))).to.deep.equal([])
    await expectComplete()
  })

  it('leaves alone a folder that has the name of a mirror', async () => {
    const node = await newNode(grove, ann, { title: 'Taken' })
    await mkdir(join(backup, pathOf(node)), { recursive: true })
    await writeFile(join(backup, pathOf(node), 'note.txt'), 'mine\n')
    const { code, stdout } = await cli(grove.dataDir, 'backup', backup)
    expect(code).to.equal(1)
    expect(stdout).to.include(`1 problem found:\n  ${pathOf(node)}: A repository of that name exists\n`)
    expect(await readFile(join(backup, pathOf(node), 'note.txt'), 'utf8')).to.equal('mine\n')
  })
})
