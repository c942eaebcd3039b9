/** Refs beside git, and what survives a power cut. */

import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { runGit } from '../../gitstore/native.ts'
import { newObjectBatch } from '../../gitstore/objects/object-batch.ts'
import { updateRefs } from '../../gitstore/refs/ref-transaction.ts'
import { endRemovals, listUnindexed, markIndexed } from '../../gitstore/refs/unindexed-moves.ts'
import type { Oid } from '../../gitstore/repo.ts'
import { type Call, traced } from '../bench/traced.ts'
import { ann, bareRepo, commitFiles, newStore, refusal, treeOf, useFolder } from './bare-repo.ts'

describe('gitstore: ref transactions', () => {
  useFolder()

  it.deep('delete a ref for good while git packs refs', async () => {
    const { repo, dir, git, say } = await bareRepo()
    const head = await commitFiles(repo, { 'a.md': 'a' })
    git(['update-ref', 'refs/heads/main', head])
    const store = await newStore(dir)
    let deleting = true
    const packing = async () => {
      while (deleting) await runGit(repo, ['pack-refs', '--all', '--prune'])
    }
    const move = (ref: string, to: Oid | null) =>
      updateRefs(store, [{ repo, ref }], async () => ({ moves: [{ repo, ref, to }], value: undefined }))
    const passing = async (name: string) => {
      for (let n = 0; n < 100; n++) {
        const ref = `refs/heads/${name}/${n}`
        await move(ref, head)
        // Different pauses, so that packing meets the ref in each of its states.
        await setTimeout(n % 8)
        await move(ref, null)
      }
    }
    await Promise.all([Promise.all(['a', 'b'].map(passing)).finally(() => (deleting = false)), packing()])
    expect(say(['for-each-ref', '--format=%(refname)'])).to.equal('refs/heads/main')
  })
})

describe('gitstore: what survives a power cut', () => {
  useFolder()

  const heads = ['refs/heads/main', 'refs/heads/draft/one']
  for (const names of [heads.slice(0, 1), heads]) {
    it(`is everything that a transaction of ${names.length} refs needs, before the first of them moves`, async () => {
      const { repo, dir, say } = await bareRepo()
      const store = await newStore(dir)
      const moved = names.map((ref) => ({ repo, ref }))
      const { calls } = await traced(() =>
        updateRefs(store, moved, async () => {
          const draft = newObjectBatch(repo)
          const tree = await treeOf(draft, { a: '1', 'b/c': '2' })
          const oid = await draft.commit({ tree, parents: [], author: ann, committer: ann, message: 'Kept' })
          return { moves: moved.map((name) => ({ ...name, to: oid })), value: oid, save: draft.save }
        }),
      )
      const path = (call: Call) => call.path.slice(dir.length + 1)
      const renames = calls.filter(({ call }) => call.startsWith('rename'))
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
      markIndexed(repo, listUnindexed(repo))
      await endRemovals()
      expect(await readdir(join(store.run, store.process))).to.deep.equal([])
    })
  }
})

describe('gitstore: native git', () => {
  useFolder()

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
