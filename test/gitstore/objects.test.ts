/** Objects: read, written, built, and what is told of those that cannot be read; native git is the oracle. */

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { chmod, mkdir, readdir, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import git from 'isomorphic-git'
import { replaceFile, writeSynced } from '../../gitstore/durable.ts'
import { cleanIdentity } from '../../gitstore/names.ts'
import { runGit } from '../../gitstore/native.ts'
import { findCommit, readCommit } from '../../gitstore/objects/commits.ts'
import { newObjectBatch } from '../../gitstore/objects/object-batch.ts'
import { readBlob, readObject } from '../../gitstore/objects/objects.ts'
import { findEntry, readTree } from '../../gitstore/objects/trees.ts'
import type { Oid } from '../../gitstore/repo.ts'
import { looseFile } from '../support/git.ts'
import { ann, bareRepo, commitFiles, folder, refusal, useFolder } from './bare-repo.ts'

describe('gitstore: objects', () => {
  useFolder()

  it('passes fsck after a draft is saved, and reads before that', async () => {
    const { repo, git, say } = await bareRepo()
    const draft = newObjectBatch(repo)
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

  it('reads a small pack whose index has an older form, as Git does', async () => {
    for (const version of ['1', '2,0x10']) {
      const { repo, git, say } = await bareRepo()
      const oid = await commitFiles(repo, { 'a.md': 'one' })
      git(['update-ref', 'refs/heads/main', oid])
      say(['repack', '-a', '-d', '-q'])
      const folder = `${repo.dir}/objects/pack`
      const [pack = ''] = (await readdir(folder)).filter((name) => name.endsWith('.pack'))
      for (const name of await readdir(folder)) if (name !== pack) await rm(`${folder}/${name}`)
      say(['index-pack', `--index-version=${version}`, `${folder}/${pack}`])
      expect(await readCommit(repo, oid), version).to.deep.include({ message: 'A change\n' })
    }
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
      const draft = newObjectBatch(repo)
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
    const draft = newObjectBatch(gone)
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

  it.deep('reads on while git repacks', async () => {
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
  useFolder()

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
        expect(await newObjectBatch(repo).commit({ tree, parents, author, committer, message })).to.equal(expected)
      }),
    )
  })

  it('are trees and large blobs, byte for byte as isomorphic-git writes them', async () => {
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
        expect(await newObjectBatch(repo).tree(entries)).to.equal(expected)
      }),
    )
    for (const size of [0, 16_384, 16_385, 300_000]) {
      const draft = newObjectBatch(repo)
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
  useFolder()

  it('never writes over a file, but replaces one whole', async () => {
    const path = join(folder, 'durable')
    await writeSynced(path, 'one')
    expect(await writeSynced(path, 'two').catch((error) => error.code)).to.equal('EEXIST')
    await replaceFile(path, 'three')
    expect(execFileSync('cat', [path]).toString()).to.equal('three')
    expect((await readdir(folder)).filter((name) => name.startsWith('.tmp'))).to.deep.equal([])
  })
})
