/** gitstore against git itself: what we read and write must be what git reads and writes. */

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import git from 'isomorphic-git'
import { findCommit, readCommit } from '../gitstore/commits.ts'
import { type Change, diffTrees } from '../gitstore/diff.ts'
import { openDraft } from '../gitstore/draft.ts'
import { replaceFile, writeSynced } from '../gitstore/durable.ts'
import { GitError } from '../gitstore/errors.ts'
import { rebase } from '../gitstore/merge.ts'
import {
  branchNameProblem,
  cleanIdentity,
  cleanPersonName,
  foldedCollision,
  pathProblem,
  personProblem,
  treePathProblem,
} from '../gitstore/names.ts'
import { runGit } from '../gitstore/native.ts'
import { readBlob, readObject } from '../gitstore/objects.ts'
import { transact } from '../gitstore/ref-transaction.ts'
import type { Oid, Repo } from '../gitstore/repo.ts'
import {
  applyChanges,
  comparePaths,
  emptyTree,
  findEntry,
  listFiles,
  readTree,
  type TreeEntry,
} from '../gitstore/trees.ts'
import { type Call, traced } from './bench/traced.ts'

const ann = { name: 'Änn', email: 'ann@example.org', timestamp: 1_700_000_000, timezoneOffset: -60 }
const ben = { name: 'Ben', email: 'ben@example.org', timestamp: 1_700_000_100, timezoneOffset: 0 }

let folder: string
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'grove-gitstore-'))
})
after(() => rm(folder, { recursive: true, force: true }))

/** A new bare repository, and git in it. */
async function bareRepo() {
  const dir = await mkdtemp(join(folder, 'repo-'))
  const env = {
    PATH: process.env.PATH,
    GIT_DIR: dir,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_AUTHOR_NAME: 'Git',
    GIT_AUTHOR_EMAIL: 'git@example.org',
    GIT_COMMITTER_NAME: 'Git',
    GIT_COMMITTER_EMAIL: 'git@example.org',
  }
  const git = (args: string[], input: string | Buffer = '', more: Record<string, string> = {}) =>
    execFileSync('git', args, { env: { ...env, ...more }, input, stdio: 'pipe', maxBuffer: 1e9 })
  const say = (...args: Parameters<typeof git>) =>
    git(...args)
      .toString('utf8')
      .trimEnd()
  git(['init', '-q', '--bare', dir])
  const repo: Repo = { dir }
  return { repo, dir, git, say }
}

/** Saves one commit whose files are exactly these. */
async function commitFiles(repo: Repo, files: Record<string, string>, parents: Oid[] = [], message = 'A change') {
  const draft = openDraft(repo)
  const tree = await treeOf(draft, files)
  const oid = await draft.commit({ tree, parents, author: ann, committer: ann, message })
  await draft.save()
  return oid
}

async function treeOf(draft: ReturnType<typeof openDraft>, files: Record<string, string>) {
  const changes = Object.entries(files).map(async ([path, text]) => ({
    path,
    blob: await draft.blob(Buffer.from(text)),
  }))
  return applyChanges(draft, null, await Promise.all(changes))
}

async function newStore(root: string) {
  const run = join(root, 'run')
  await mkdir(join(run, 'one'), { recursive: true })
  return {
    root,
    run,
    process: 'one',
    takeOver: () => undefined,
    recovered: async () => undefined,
    suspected: () => undefined,
  }
}

async function refusal(promise: Promise<unknown>) {
  try {
    await promise
  } catch (error) {
    if (error instanceof GitError) return { code: error.code, facts: error.facts }
    throw error
  }
  return undefined
}

/** Few names, so that random trees meet: files where others have folders, names above U+FFFF, bytes that are not UTF-8. */
const name = fc.constantFrom('a', 'b', 'a.b', 'a-b', 'é', '\u{1f333}', '\uff5e', '\udcff')
const leaf = fc.record({
  mode: fc.constantFrom('100644', '100755', '120000', '160000'),
  content: fc.constantFrom('1', '2', '3'),
})
type Node = { mode: string; content: string } | { [name: string]: Node }
const { tree: anyTree } = fc.letrec<{ tree: { [name: string]: Node }; node: Node }>((tie) => ({
  tree: fc.dictionary(name, tie('node'), { maxKeys: 5 }),
  node: fc.oneof({ depthSize: 'small' }, leaf, tie('tree')),
}))

async function storeNode(draft: ReturnType<typeof openDraft>, node: { [name: string]: Node }): Promise<Oid> {
  const entries: TreeEntry[] = []
  for (const [name, child] of Object.entries(node)) {
    if (typeof child.mode === 'string') {
      const blob = await draft.blob(Buffer.from(String(child.content)))
      entries.push({ name, mode: child.mode as TreeEntry['mode'], oid: blob })
    } else {
      const oid = await storeNode(draft, child as { [name: string]: Node })
      if (oid !== emptyTree) entries.push({ name, mode: '040000', oid })
    }
  }
  return draft.tree(entries)
}

describe('gitstore: objects', () => {
  it('passes fsck after a draft is saved, and reads before that', async () => {
    const { repo, git, say } = await bareRepo()
    const draft = openDraft(repo)
    const blob = await draft.blob(Buffer.from('text\n'))
    const tree = await draft.tree([
      { name: 'b', mode: '100644', oid: blob },
      { name: '\udcff\u{1f333}', mode: '100755', oid: blob },
      { name: 'a', mode: '040000', oid: await draft.tree([{ name: '~', mode: '120000', oid: blob }]) },
    ])
    const strange = { name: 'A <b>\n', email: 'a>\0', timestamp: 1, timezoneOffset: 330 }
    const oid = await draft.commit({ tree, parents: [], author: strange, committer: ann, message: '\r\nHello\r\n\n\n' })

    expect(await readdir(`${repo.dir}/objects`)).to.deep.equal(['info', 'pack'])
    expect(await findCommit(repo, oid)).to.equal(undefined)
    expect(await readCommit(draft.repo, oid)).to.deep.include({ tree, parents: [], committer: ann, message: 'Hello\n' })

    await draft.save()
    git(['update-ref', 'refs/heads/main', oid])
    expect(say(['fsck', '--full', '--strict'])).to.equal('')
    expect(say(['cat-file', 'commit', oid])).to.contain(
      'author A b <a> 1 -0530\ncommitter Änn <ann@example.org> 1700000000 +0100\n',
    )
    expect(git(['ls-tree', '-r', '-z', '--name-only', oid])).to.deep.equal(
      Buffer.concat([Buffer.from('a/~\0b\0'), Buffer.of(0xff), Buffer.from('\u{1f333}\0')]),
    )
    expect((await stat(looseFile(repo, blob))).mode & 0o777).to.equal(0o444)
  })

  it('heals a torn object when it is written again', async () => {
    const { repo, say } = await bareRepo()
    const files = { 'a.md': 'one' }
    const oid = await commitFiles(repo, files)
    const blob = (await findEntry(repo, (await readCommit(repo, oid)).tree, 'a.md'))?.oid ?? ''
    await chmod(looseFile(repo, blob), 0o644)
    await truncate(looseFile(repo, blob), 0)
    expect(await refusal(readBlob(repo, blob))).to.have.property('code', 'object_damaged')
    await commitFiles(repo, files)
    expect((await readBlob(repo, blob)).toString()).to.equal('one')
    expect(say(['cat-file', 'blob', blob])).to.equal('one')
  })

  it('makes an object that exists young again, so that no prune takes it', async () => {
    const { repo, git } = await bareRepo()
    const store = async () => {
      const draft = openDraft(repo)
      const oid = await draft.blob(Buffer.from('kept'))
      await draft.save()
      return oid
    }
    const oid = await store()
    await utimes(looseFile(repo, oid), 1, 1)
    await store()
    git(['prune', '--expire=2.weeks.ago'])
    expect((await readBlob(repo, oid)).toString()).to.equal('kept')
  })

  it('writes nothing below a repository that is gone', async () => {
    const gone = { dir: join(folder, 'gone.git') }
    const draft = openDraft(gone)
    const oid = await draft.blob(Buffer.from('late'))
    expect(await refusal(draft.save())).to.have.property('code', 'repo_missing')
    expect(await refusal(readObject(gone, oid))).to.have.property('code', 'repo_missing')
    expect(await stat(gone.dir).catch((error) => error.code)).to.equal('ENOENT')
  })

  it('tells missing, damaged, of another kind and too large apart', async () => {
    const { repo } = await bareRepo()
    const oid = await commitFiles(repo, { a: 'x'.repeat(100_000) })
    const { tree } = await readCommit(repo, oid)
    const blob = (await findEntry(repo, tree, 'a'))?.oid ?? ''
    expect(await refusal(readObject(repo, '1'.repeat(40)))).to.have.property('code', 'object_missing')
    expect(await refusal(readObject(repo, '../../../etc/passwd'))).to.have.property('code', 'object_missing')
    expect(await findCommit(repo, tree)).to.equal(undefined)
    expect(await refusal(readTree(repo, oid))).to.have.property('code', 'object_missing')
    expect(await refusal(readBlob(repo, blob, 99_999))).to.deep.equal({
      code: 'limit_exceeded',
      facts: { size: 100_000, maxBytes: 99_999 },
    })
    expect(await readBlob(repo, blob, 100_000)).to.have.length(100_000)
    await chmod(looseFile(repo, blob), 0o644)
    await writeFile(looseFile(repo, blob), 'nonsense')
    expect(await refusal(readBlob(repo, blob))).to.have.property('code', 'object_damaged')
  })

  it('reads on while git repacks', async () => {
    const { repo, git } = await bareRepo()
    const oids: Oid[] = []
    const commitOnMain = async () => {
      oids.push(await commitFiles(repo, { a: String(oids.length) }, oids.slice(-1)))
      git(['update-ref', 'refs/heads/main', oids.at(-1) ?? ''])
    }
    for (let i = 0; i < 20; i++) await commitOnMain()
    let packing = true
    const repacks = (async () => {
      for (let i = 0; i < 12; i++) {
        expect((await runGit(repo, ['repack', '-adq'])).stderr).to.equal('')
        await commitOnMain()
      }
      packing = false
    })()
    let reads = 0
    while (packing) for (const oid of [...oids]) reads += (await readObject(repo, oid)).type === 'commit' ? 1 : 0
    await repacks
    expect(reads).to.be.greaterThan(20)
  })

  it('reads what git writes: encodings, malformed dates, missing messages, old modes', async () => {
    const { repo, git, say } = await bareRepo()
    const store = (type: string, content: Buffer | string) =>
      say(['hash-object', '-t', type, '-w', '--stdin', '--literally'], content)
    const blob = store('blob', 'x')
    const entry = Buffer.concat([Buffer.from('100664 a\0'), Buffer.from(blob, 'hex')])
    const tree = store('tree', entry)
    expect(await readTree(repo, tree)).to.deep.equal([{ name: 'a', mode: '100644', oid: blob }])
    const latin =
      git(['commit-tree', tree, '-m', 'x']) &&
      store(
        'commit',
        Buffer.from(
          `tree ${tree}\nauthor J\xf6rg <j@x> 5 -0000\ncommitter J\xf6rg <j@x> 6 +0545\nencoding ISO-8859-1\n\n\xe9t\xe9`,
          'latin1',
        ),
      )
    expect(await readCommit(repo, latin)).to.deep.include({
      author: { name: 'Jörg', email: 'j@x', timestamp: 5, timezoneOffset: -0 },
      committer: { name: 'Jörg', email: 'j@x', timestamp: 6, timezoneOffset: -345 },
      message: 'été',
    })
    const bare = store('commit', `tree ${tree}\nauthor <> never\n`)
    const nobody = { name: '', email: '', timestamp: 0, timezoneOffset: 0 }
    expect(await readCommit(repo, bare)).to.deep.include({ author: nobody, committer: nobody, message: '' })
    expect(await refusal(readCommit(repo, store('commit', 'nonsense')))).to.have.property('code', 'object_damaged')
    expect(await refusal(readTree(repo, store('tree', entry.subarray(0, 20))))).to.have.property(
      'code',
      'object_damaged',
    )
  })
})

describe('gitstore: objects that it builds itself', () => {
  const person = fc.record({
    name: fc.string({ unit: 'grapheme', maxLength: 20 }).map(cleanIdentity),
    email: fc.string({ maxLength: 20 }).map(cleanIdentity),
    timestamp: fc.nat({ max: 4_000_000_000 }),
    timezoneOffset: fc.oneof(fc.integer({ min: -840, max: 720 }), fc.constant(-0)),
  })
  const oid = fc.stringMatching(/^[0-9a-f]{40}$/)

  it('are commits byte for byte as isomorphic-git makes them', async () => {
    const { repo } = await bareRepo()
    const message = fc.string({ unit: fc.constantFrom('a', 'é', '\n', '\r', ' ', '\u{1f333}'), maxLength: 30 })
    const commit = fc.record({ tree: oid, parents: fc.array(oid, { maxLength: 3 }), author: person, committer: person })
    await fc.assert(
      fc.asyncProperty(commit, message, async ({ tree, parents, author, committer }, message) => {
        const theirs = { tree, parent: parents, author, committer, message }
        const expected = await git.writeCommit({ fs, gitdir: repo.dir, commit: theirs })
        expect(await openDraft(repo).commit({ tree, parents, author, committer, message })).to.equal(expected)
      }),
    )
  })

  it('are trees byte for byte as isomorphic-git makes them, and large blobs too', async () => {
    const { repo } = await bareRepo()
    const mode = fc.constantFrom('040000', '100644', '100755', '120000', '160000')
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '-', 'é', '\u{1f333}', '\uff5e'), minLength: 1 })
    const entries = fc.uniqueArray(fc.record({ name: text, mode, oid }), { selector: ({ name }) => name })
    await fc.assert(
      fc.asyncProperty(entries, async (entries) => {
        const types = { '040000': 'tree', '160000': 'commit' } as const
        const tree = entries.map(({ name, mode, oid }) => {
          const type = mode === '040000' || mode === '160000' ? types[mode] : 'blob'
          return { path: name, mode, oid, type } as const
        })
        const expected = await git.writeTree({ fs, gitdir: repo.dir, tree })
        expect(await openDraft(repo).tree(entries)).to.equal(expected)
      }),
    )
    for (const size of [0, 16_384, 16_385, 300_000]) {
      const draft = openDraft(repo)
      const content = randomBytes(size)
      expect(await draft.blob(content)).to.equal(await git.writeBlob({ fs, gitdir: repo.dir, blob: content }))
      await rm(`${repo.dir}/objects`, { recursive: true })
      await mkdir(`${repo.dir}/objects`)
      await draft.save()
      expect(await readBlob(repo, await draft.blob(content))).to.deep.equal(content)
    }
  })
})

describe('gitstore: durable files', () => {
  it('never writes over a file, but replaces one whole', async () => {
    const path = join(folder, 'durable')
    await writeSynced(path, 'one')
    expect(await writeSynced(path, 'two').catch((error) => error.code)).to.equal('EEXIST')
    await replaceFile(path, 'three')
    expect(execFileSync('cat', [path]).toString()).to.equal('three')
    expect((await readdir(folder)).filter((name) => name.startsWith('.tmp'))).to.deep.equal([])
  })
})

describe('gitstore: trees', () => {
  it('diffs any two trees as git diff-tree does', async () => {
    const { repo, git } = await bareRepo()
    await fc.assert(
      fc.asyncProperty(anyTree, anyTree, async (a, b) => {
        const draft = openDraft(repo)
        const [from, to] = [await storeNode(draft, a), await storeNode(draft, b)]
        await draft.save()
        const raw = git(['diff-tree', '-r', '--raw', '-z', '--no-renames', '--full-index', from, to]).toString('latin1')
        expect((await diffTrees(repo, from, to)).map(rawLine).join('')).to.equal(raw)
        expect(await diffTrees(repo, null, to)).to.deep.equal(await diffTrees(repo, emptyTree, to))
        const listed = git(['ls-tree', '-r', '-z', to]).toString('latin1')
        const files = await listFiles(repo, to)
        expect(
          files.map((file) => `${file.mode} ${kindOf(file.mode)} ${file.oid}\t${latin(file.path)}\0`).join(''),
        ).to.equal(listed)
      }),
      { numRuns: 60 },
    )
  })

  it('applies changes as git builds a tree from its index', async () => {
    const { repo, git, say } = await bareRepo()
    const path = fc
      .array(fc.constantFrom('a', 'b', 'c.md', 'é'), { minLength: 1, maxLength: 3 })
      .map((names) => names.join('/'))
    const change = fc.record({ path, text: fc.option(fc.constantFrom('1', '2')) })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(change, { maxLength: 8 }), { maxLength: 4 }), async (rounds) => {
        let tree: Oid | null = null
        for (const round of rounds) {
          const draft = openDraft(repo)
          const changes = []
          for (const { path, text } of round) {
            changes.push({ path, blob: text === null ? null : await draft.blob(Buffer.from(text)) })
          }
          const last = new Map(changes.map(({ path, blob }) => [path, blob]))
          const before: string[] = tree === null ? [] : (await listFiles(repo, tree)).map((file) => file.path)
          const after = [...new Set([...before, ...last.keys()])].filter((path) =>
            last.has(path) ? last.get(path) !== null : before.includes(path),
          )
          if (after.some((path) => after.some((other) => other.startsWith(`${path}/`)))) {
            expect(await refusal(applyChanges(draft, tree, changes))).to.have.property('code', 'path_conflict')
            continue
          }
          const result: Oid = await applyChanges(draft, tree, changes)
          await draft.save()
          git(['read-tree', tree ?? emptyTree])
          const lines = [...last].map(([path, blob]) => `${blob ? '100644' : '0'} ${blob ?? '0'.repeat(40)}\t${path}\0`)
          git(['update-index', '-z', '--index-info'], lines.sort((a, b) => a.localeCompare(b)).join(''))
          expect(result).to.equal(say(['write-tree']))
          tree = result
        }
      }),
      { numRuns: 40 },
    )
  })

  it('keeps an executable file executable and names of other bytes as they are', async () => {
    const { repo } = await bareRepo()
    const draft = openDraft(repo)
    const [one, two] = [await draft.blob(Buffer.from('1')), await draft.blob(Buffer.from('2'))]
    const tree = await draft.tree([
      { name: 'run', mode: '100755', oid: one },
      { name: 'link', mode: '120000', oid: one },
      { name: '\udce9', mode: '100644', oid: one },
    ])
    const changes = ['run', 'link'].map((path) => ({ path, blob: two }))
    expect(await readTree(draft.repo, await applyChanges(draft, tree, changes))).to.deep.equal([
      { name: 'link', mode: '100644', oid: two },
      { name: 'run', mode: '100755', oid: two },
      { name: '\udce9', mode: '100644', oid: one },
    ])
    expect(await applyChanges(draft, tree, [])).to.equal(tree)
    expect(await applyChanges(draft, null, [{ path: 'no/such', blob: null }])).to.equal(emptyTree)
    expect(await refusal(applyChanges(draft, tree, [{ path: 'run/x', blob: one }]))).to.deep.equal({
      code: 'path_conflict',
      facts: { path: 'run' },
    })
    expect(await findEntry(draft.repo, tree, 'run/x')).to.equal(undefined)
  })

  it('refuses a dozen objects that stand for ten thousand million paths, with or without files', async () => {
    const { repo } = await bareRepo()
    const draft = openDraft(repo)
    for (const seed of [[{ name: 'f', mode: '100644', oid: await draft.blob(Buffer.from('')) }], []] as TreeEntry[][]) {
      let tree = await draft.tree(seed)
      for (let i = 0; i < 10; i++) {
        const copies = Array.from({ length: 10 }, (_, n): TreeEntry => ({ name: String(n), mode: '040000', oid: tree }))
        tree = await draft.tree(copies)
      }
      expect(await refusal(listFiles(draft.repo, tree))).to.have.property('code', 'limit_exceeded')
      expect(await refusal(diffTrees(draft.repo, null, tree))).to.have.property('code', 'limit_exceeded')
    }
    let deep = await draft.tree([])
    for (let i = 0; i < 200; i++) deep = await draft.tree([{ name: 'd', mode: '040000', oid: deep }])
    expect(await refusal(listFiles(draft.repo, deep))).to.have.property('code', 'limit_exceeded')
    expect(await refusal(diffTrees(draft.repo, null, deep))).to.have.property('code', 'limit_exceeded')
  })

  it('orders paths by their bytes', () => {
    const paths = ['a', 'a/b', 'a.b', '\uff5e', '\u{1f333}', '\udcff', '\udc80', 'é']
    const bytes = (path: string) => Buffer.from(latin(path), 'latin1')
    expect([...paths].sort(comparePaths)).to.deep.equal([...paths].sort((a, b) => Buffer.compare(bytes(a), bytes(b))))
  })
})

describe('gitstore: ref transactions', () => {
  it('delete a ref for good while git packs refs', async () => {
    const { repo, dir, git, say } = await bareRepo()
    const head = await commitFiles(repo, { 'a.md': 'a' })
    git(['update-ref', 'refs/heads/main', head])
    const store = await newStore(dir)
    let deleting = true
    const packing = async () => {
      while (deleting) await runGit(repo, ['pack-refs', '--all', '--prune'])
    }
    const move = (ref: string, to: Oid | null) =>
      transact(store, [{ repo, ref }], async () => ({ moves: [{ repo, ref, to }], value: undefined }))
    const passing = async (name: string) => {
      for (let n = 0; n < 100; n++) {
        const ref = `refs/heads/${name}/${n}`
        await move(ref, head)
        await setTimeout(n % 8)
        await move(ref, null)
      }
    }
    await Promise.all([Promise.all(['a', 'b'].map(passing)).finally(() => (deleting = false)), packing()])
    expect(say(['for-each-ref', '--format=%(refname)'])).to.equal('refs/heads/main')
  })
})

describe('gitstore: what survives a power cut', () => {
  const heads = ['refs/heads/main', 'refs/heads/draft/one']
  for (const names of [heads.slice(0, 1), heads]) {
    it(`is everything that a transaction of ${names.length} refs needs, before the first of them moves`, async () => {
      const { repo, dir, say } = await bareRepo()
      const store = await newStore(dir)
      const moved = names.map((ref) => ({ repo, ref }))
      const { calls } = await traced(() =>
        transact(store, moved, async () => {
          const draft = openDraft(repo)
          const tree = await treeOf(draft, { a: '1', 'b/c': '2' })
          const oid = await draft.commit({ tree, parents: [], author: ann, committer: ann, message: 'Kept' })
          return { moves: moved.map((name) => ({ ...name, to: oid })), value: oid, save: draft.save }
        }),
      )
      const path = (call: Call) => call.path.slice(dir.length + 1)
      const renames = calls.filter(({ call }) => call === 'renameSync')
      const synced = (before: number) =>
        calls.filter(({ call, to }) => call === 'fsync' && to <= before).map((call) => path(call))
      const firstMove = renames.find((call) => path(call).startsWith('refs/'))?.from ?? 0

      // No name before its content: a file is written and synced under another one.
      for (const rename of renames) {
        const written = synced(rename.from).filter((name) => /tmp_obj|run\/one\/\d+\/\d+$/.test(name)).length
        expect(written).to.be.greaterThanOrEqual(renames.filter(({ to }) => to <= rename.to).length)
      }
      const before = synced(firstMove)
      const stored = renames.map(path).filter((name) => name.startsWith('objects/'))
      expect(stored).to.have.length(5)
      expect(stored.map((name) => name.slice(0, 10)).filter((folder) => !before.includes(folder))).to.deep.equal([])
      const kinds = before.map((name) => name.replace(/\d+/, 'n'))
      expect(kinds).to.include.members(names.map((_, at) => `run/one/n/${at}`))
      if (names.length > 1) {
        const plan = ['run/one/n/moves.json', 'run/one/n/token', 'run/one/n', 'run/one', 'run']
        expect(kinds).to.include.members([...plan, 'refs/heads', 'refs/heads/draft'])
      }
      const after = synced(Number.POSITIVE_INFINITY)
      expect(after).to.include.members(names.map((ref) => ref.slice(0, ref.lastIndexOf('/'))))
      expect(say(['for-each-ref', '--format=%(refname)']).split('\n')).to.deep.equal([...names].sort())
      expect(say(['fsck', '--full', '--strict'])).to.equal('')
      expect(await readdir(join(store.run, store.process))).to.deep.equal([])
    })
  }
})

describe('gitstore: rebase', () => {
  const text = (...changed: string[]) =>
    Array.from({ length: 30 }, (_, i) => changed.find((line) => line.startsWith(`${i} `)) ?? `${i}`).join('\n')

  it('puts commits on another head as git rebase does, keeping author and message', async () => {
    const { repo, git, say } = await bareRepo()
    const base = await commitFiles(repo, { 'dir/a': text(), old: text(), same: 'same' })
    const main = await commitFiles(
      repo,
      { 'dir/a': text('2 main'), old: text('20 main'), both: 'both', same: 'same' },
      [base],
    )
    const one = await commitFiles(repo, { 'dir/a': text('20 one'), old: text(), same: 'same' }, [base], 'One\n\nbody')
    const two = await commitFiles(
      repo,
      { 'dir/a': text('20 one'), old: text(), same: 'same', both: 'both' },
      [one],
      'Two',
    )
    const merge = await commitFiles(repo, { 'dir/a': text('20 one'), old: text(), same: 'same', both: 'both' }, [
      two,
      base,
    ])
    const three = await commitFiles(
      repo,
      { 'dir/a': text('20 one'), new: text('3 three'), same: 'same', both: 'both' },
      [merge],
      'Three',
    )
    const empty = say(['commit-tree', `${three}^{tree}`, '-p', three, '-m', 'Empty'])

    const commits = [one, two, merge, three, empty]
    const { head } = await rebase(repo, { commits, onto: main, committer: ben })

    git(['update-ref', 'refs/heads/main', head])
    expect(say(['log', '--format=%s|%an|%cn|%ct', head])).to.equal(
      `${[
        'Empty|Git|Ben|1700000100',
        'Three|Änn|Ben|1700000100',
        'One|Änn|Ben|1700000100',
        'A change|Änn|Änn|1700000000',
      ].join('\n')}\nA change|Änn|Änn|1700000000`,
    )
    expect((await listFiles(repo, (await readCommit(repo, head)).tree)).map(({ path }) => path)).to.deep.equal([
      'both',
      'dir/a',
      'new',
      'same',
    ])
    expect(say(['show', `${head}:dir/a`])).to.equal(text('2 main', '20 one'))
    expect(say(['show', `${head}:new`])).to.equal(text('3 three', '20 main'))
    expect(say(['fsck', '--full', '--strict', '--no-dangling'])).to.equal('')
    expect(await readdir(repo.dir)).to.deep.equal([
      'HEAD',
      'branches',
      'config',
      'description',
      'hooks',
      'info',
      'objects',
      'refs',
    ])
    expect(await rebase(repo, { commits: [two], onto: main, committer: ben })).to.deep.equal({
      head: main,
      draftSaved: true,
    })
  })

  it('names the paths that conflict and leaves nothing behind', async () => {
    const { repo, say } = await bareRepo()
    const base = await commitFiles(repo, { b: 'x', 'a/é': 'x', c: 'x' })
    const main = await commitFiles(repo, { b: 'main', 'a/é': 'main', c: 'x' }, [base])
    const source = await commitFiles(repo, { b: 'source', 'a/é': 'source', c: 'source' }, [base])
    const before = say(['count-objects'])
    expect(await refusal(rebase(repo, { commits: [source], onto: main, committer: ben }))).to.deep.equal({
      code: 'merge_conflict',
      facts: { paths: ['a/é', 'b'], commit: source },
    })
    expect(say(['count-objects'])).to.equal(before)
    expect((await readdir(repo.dir)).filter((name) => name.startsWith('quarantine'))).to.deep.equal([])
  })

  it('rebases a root commit of another history', async () => {
    const { repo, say } = await bareRepo()
    const main = await commitFiles(repo, { a: 'a' })
    const other = await commitFiles(repo, { b: 'b' })
    const { head } = await rebase(repo, { commits: [other], onto: main, committer: ben })
    expect(say(['ls-tree', '--name-only', head])).to.equal('a\nb')
    expect((await readCommit(repo, head)).parents).to.deep.equal([main])
  })
})

describe('gitstore: native git', () => {
  it('gets nothing of our environment, ends on time and within its output', async () => {
    const { repo } = await bareRepo()
    const seen = await runGit(repo, ['-c', 'alias.env=!env', 'env'])
    expect(seen.stdout.toString()).to.not.match(/^(HOME|USER|SSH_AUTH_SOCK|PWD_TEST)=/m)
    expect(await refusal(runGit(repo, ['-c', 'alias.wait=!sleep 60', 'wait'], { timeoutMs: 100 }))).to.have.property(
      'code',
      'native_failed',
    )
    expect(await refusal(runGit(repo, ['-c', 'alias.yes=!yes', 'yes'], { maxOutputBytes: 1000 }))).to.have.property(
      'code',
      'limit_exceeded',
    )
    const unread = await runGit(repo, ['--version'], { input: Buffer.alloc(5_000_000) })
    expect(unread.code).to.equal(0)
  })
})

describe('gitstore: names', () => {
  it('lets no branch name through that git refuses', async () => {
    const { say, git } = await bareRepo()
    const unit = fc.constantFrom(
      ...'ab/.@{}~^:?*[\\ -\x01\x7fHEADreflock'.split(''),
      '..',
      '.lock',
      '@{',
      'é',
      '\u{1f333}',
      '\u0085',
    )
    const names = fc
      .sample(fc.string({ unit, maxLength: 12 }), 3000)
      .filter((name) => branchNameProblem(name) === undefined)
    const unique = [...new Set(names)]
    expect(unique.length).to.be.greaterThan(100)
    const script =
      'while IFS= read -r name; do git check-ref-format --branch "$name" >/dev/null 2>&1 || echo "$name"; done'
    expect(execFileSync('sh', ['-c', script], { input: `${unique.join('\n')}\n` }).toString()).to.equal('')
    const oid = say(['commit-tree', emptyTree, '-m', 'x'])
    const separate = unique.filter((name) => !unique.some((other) => other.startsWith(`${name}/`)))
    git(['update-ref', '--stdin', '-z'], separate.map((name) => `create refs/heads/${name}\0${oid}\0`).join(''))
  })

  it('refuses branch names that other tools mistake for something else', () => {
    const bad = [
      '',
      '-x',
      'HEAD',
      '@',
      'a..b',
      'a@{b',
      'a b',
      'a\tb',
      'a~',
      'a^',
      'a:b',
      'a?',
      'a*',
      'a[',
      'a\\b',
      '/a',
      'a/',
    ]
    bad.push(
      'a//b',
      '.a',
      'a/.b',
      'a.lock',
      'a.lock/b',
      'a.',
      'refs/heads/a',
      'a'.repeat(40),
      'F'.repeat(64),
      '\ud800',
      'a\u0085',
    )
    bad.push('é'.repeat(101))
    expect(bad.filter((name) => branchNameProblem(name) === undefined)).to.deep.equal([])
    const good = ['main', 'feature/a-b', 'é', '@a', 'a@b', 'head', 'é'.repeat(100), 'a'.repeat(41), 'a.b', 'ref/s']
    expect(good.filter((name) => branchNameProblem(name) !== undefined)).to.deep.equal([])
  })

  it('refuses every tree entry that git fsck refuses', async () => {
    const { say, repo } = await bareRepo()
    const blob = say(['hash-object', '-w', '--stdin'], `${'x'.repeat(3000)}\n`)
    const stem = [
      '.',
      '..',
      '.git',
      '.GiT',
      '.g\u200cit',
      'git~1',
      'GIT~1',
      'git~2',
      '.gitmodules',
      '.gitattributes',
      'gitmod~1',
      'gi7eba~1',
    ]
    stem.push(
      'gitatt~4',
      'gi7d29~9',
      'gi7d2~10',
      'g~123456',
      '.git\u0301',
      'a',
      '\ufeff.gitModules',
      '.gitignore',
      'x\\.git',
      '~1000000',
    )
    const names = stem.flatMap((name) => [
      name,
      ...[' ', '.', ' . ', '::$INDEX_ALLOCATION', ':', 'x', '\u200d'].map((end) => name + end),
    ])
    const missed = []
    for (const name of names.filter((name) => pathProblem(name) === undefined)) {
      const tree = say(['mktree', '-z'], `100644 blob ${blob}\t${name}\0`)
      const { code } = await runGit(repo, ['fsck', '--strict', '--no-dangling', tree])
      if (code !== 0) missed.push(name)
      await rm(looseFile(repo, tree), { force: true })
    }
    expect(missed).to.deep.equal([])
  })

  it('takes ordinary paths and refuses what no file system should meet', () => {
    const bad = [
      '',
      '/a',
      'a/',
      'a//b',
      'a/../b',
      'a/.GIT/b',
      'a\0',
      'a\nb',
      'a\\b',
      '\udcff',
      'é'.repeat(128),
      `${'a/'.repeat(64)}a`,
    ]
    bad.push(`${`${'a'.repeat(200)}/`.repeat(6)}a`)
    expect(bad.filter((path) => treePathProblem(path) === undefined)).to.deep.equal([])
    const good = [
      'a',
      'content.md',
      'parents/a.json',
      '.github/x',
      '.gitignore',
      'a b',
      'é/\u{1f333}',
      `${'a/'.repeat(63)}a`,
      '...',
      '.gitx',
    ]
    expect(good.filter((path) => pathProblem(path) !== undefined)).to.deep.equal([])
    expect(treePathProblem('.gitmodules')).to.equal(undefined)
    expect(pathProblem('a/.gitmodules')).to.be.a('string')
  })

  it('cleans names of people as git does, and finds names that collide', () => {
    expect(cleanPersonName(' "Ann <Lee>\r\n Jr." ')).to.equal('Ann Lee Jr')
    expect(cleanPersonName(' <.> ')).to.equal('unknown')
    expect(personProblem({ name: 'Ann', email: 'a@b' })).to.equal(undefined)
    for (const name of ['', '...', 'a\nb', 'a<b', '\ud800', 'a'.repeat(256)])
      expect(personProblem({ name, email: 'a@b' })).to.be.a('string')
    const every = new Set(['Straße', 'STRASSE', 'É', 'a'])
    expect(foldedCollision(['Straße', 'b', 'STRASSE'], every)).to.deep.equal(['Straße', 'STRASSE'])
    expect(foldedCollision(['e\u0301', 'É'], every)).to.deep.equal(['e\u0301', 'É'])
    expect(foldedCollision(['a', 'b', 'a'], every)).to.equal(undefined)
    expect(foldedCollision(['A', 'a', 'b'], new Set(['b']))).to.equal(undefined)
  })
})

function looseFile(repo: Repo, oid: Oid) {
  return `${repo.dir}/objects/${oid.slice(0, 2)}/${oid.slice(2)}`
}

function kindOf(mode: string) {
  return mode === '160000' ? 'commit' : 'blob'
}

/** A path's bytes, one character each, as git's own output is read here. */
function latin(path: string) {
  const parts = path.split(/((?<![\ud800-\udbff])[\udc80-\udcff])/)
  return parts
    .map((part, i) => (i % 2 ? String.fromCharCode(part.charCodeAt(0) - 0xdc00) : Buffer.from(part).toString('latin1')))
    .join('')
}

function rawLine({ path, old, new: now }: Change) {
  const none = { mode: '000000', oid: '0'.repeat(40) }
  const [a, b] = [old ?? none, now ?? none]
  const status = !old ? 'A' : !now ? 'D' : a.mode.slice(0, 2) === b.mode.slice(0, 2) ? 'M' : 'T'
  return `:${a.mode} ${b.mode} ${a.oid} ${b.oid} ${status}\0${latin(path)}\0`
}
