/** New repositories, in one pack each: as git reads them, and as the store does. */

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { createRepo, stageRepos } from '../../gitstore/new-repos.ts'
import { newObjectDraft } from '../../gitstore/objects/object-batch.ts'
import { readObject } from '../../gitstore/objects/objects.ts'
import { listRefs } from '../../gitstore/refs/refs.ts'
import type { PendingObject } from '../../gitstore/repo.ts'
import { runs } from '../support/seed.ts'
import { ann, folder, refusal, treeOf, useFolder } from './bare-repo.ts'

describe('gitstore: a new repository', () => {
  useFolder()

  const git = (dir: string, ...args: string[]) =>
    execFileSync('git', args, { env: { PATH: process.env.PATH, GIT_DIR: dir }, stdio: 'pipe' })
      .toString()
      .trim()

  let made = 0
  const next = () => join(folder, `new-${++made}.git`)

  async function create(dir: string, files: Record<string, string>, objects = new Map<string, PendingObject>()) {
    await createRepo(dir, async (draft) => {
      const tree = await treeOf(draft, files)
      const head = await draft.commit({ tree, parents: [], author: ann, committer: ann, message: 'All' })
      for (const [oid, object] of draft.repo.pending ?? []) objects.set(oid, object)
      return new Map([
        ['refs/heads/main', head],
        ['refs/grove/ledger', head],
      ])
    })
    return objects
  }

  it.deep('is one that git finds nothing wrong with, and that reads as it was written, whatever is in it', async () => {
    const content = fc.oneof(
      fc.string(),
      fc.integer({ min: 0, max: 70_000 }).map((size) => randomBytes(size).toString('hex')),
    )
    const trees = fc.dictionary(fc.stringMatching(/^[a-z]{1,3}(\/[a-z]{1,2})?$/), content, { minKeys: 1, maxKeys: 40 })
    await fc.assert(
      fc.asyncProperty(trees, async (drawn) => {
        const isFolder = (path: string) => Object.keys(drawn).some((other) => other.startsWith(`${path}/`))
        const files = Object.fromEntries(Object.entries(drawn).filter(([path]) => !isFolder(path)))
        const dir = next()
        const objects = await create(dir, files)
        expect(git(dir, 'fsck', '--full', '--strict')).to.equal('')
        const [pack = ''] = readdirSync(join(dir, 'objects/pack')).filter((name) => name.endsWith('.pack'))
        const hash = git(dir, 'index-pack', '--verify', join(dir, 'objects/pack', pack))
        expect(pack).to.equal(`pack-${hash || pack.slice(5, 45)}.pack`)
        git(dir, 'verify-pack', join(dir, 'objects/pack', pack))
        expect(git(dir, 'ls-tree', '-r', '--name-only', 'main').split('\n').sort()).to.deep.equal(
          Object.keys(files).sort(),
        )
        for (const [oid, { type, content }] of objects)
          expect(await readObject({ dir }, oid)).to.deep.equal({ type, content })
      }),
      { numRuns: runs(12), seed: 7 },
    )
  })

  it('has packed-refs as git writes them, and can be cloned, packed again and moved on', async () => {
    const dir = next()
    await create(dir, { a: 'a' })
    const lines = execFileSync('cat', [join(dir, 'packed-refs')]).toString()
    expect(listRefs({ dir }, 'refs/').size).to.equal(2)
    git(dir, 'pack-refs', '--all', '--prune')
    expect(execFileSync('cat', [join(dir, 'packed-refs')]).toString()).to.equal(lines)
    execFileSync('git', ['clone', '-q', dir, `${dir}-clone`], { stdio: 'pipe' })
    git(dir, 'repack', '-adq')
    git(dir, 'update-ref', 'refs/heads/other', 'main')
    expect(git(dir, 'fsck', '--full', '--strict')).to.equal('')
  })

  /** Stages repositories and publishes them. @param each is called when one has its name */
  async function stage(home: string, names: readonly string[], each = (_: string) => {}) {
    const staged = stageRepos(home, names.length)
    try {
      for (const name of names) {
        const objects = new Map<string, PendingObject>()
        const draft = newObjectDraft({ dir: join(home, name) }, objects)
        const tree = await treeOf(draft, { name })
        const head = await draft.commit({ tree, parents: [], author: ann, committer: ann, message: name })
        await staged.add(name, { refs: new Map([['refs/heads/main', head]]), objects })
      }
      await staged.sync()
      const published: string[] = []
      await staged.publish((name) => {
        published.push(name)
        each(name)
      })
      return published
    } finally {
      await staged.close()
    }
  }

  it('takes no name that is taken, alone or among others, and leaves nothing unfinished', async () => {
    const home = join(folder, `home-${++made}`)
    mkdirSync(home)
    await create(join(home, 'b.git'), { b: 'b' })
    expect(await refusal(create(join(home, 'b.git'), { b: 'c' }))).to.include({ code: 'repo_exists' })
    const error = await refusal(stage(home, ['a.git', 'b.git', 'c.git']))
    expect(error).to.include({ code: 'repo_exists' })
    expect(readdirSync(home)).to.deep.equal(['b.git'])
    expect(await stage(home, ['a.git', 'c.git'])).to.deep.equal(['a.git', 'c.git'])
    expect(readdirSync(home).sort()).to.deep.equal(['a.git', 'b.git', 'c.git'])
    for (const name of readdirSync(home)) expect(git(join(home, name), 'fsck', '--full', '--strict')).to.equal('')
  })

  it('is missing if its folder is moved away after it has its name, alone or among others', async () => {
    for (const names of [['a.git'], ['a.git', 'b.git', 'c.git', 'd.git', 'e.git']]) {
      const home = join(folder, `home-${++made}`)
      mkdirSync(home)
      const moveAway = (name: string) => name === names.at(-1) && renameSync(home, `${home}-moved`)
      expect(await refusal(stage(home, names, moveAway))).to.include({ code: 'repo_missing' })
    }
  })
})
