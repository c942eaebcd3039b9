/** Diffs that are larger than an answer: what is left out is said, and how the rest is read. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { aNode, ann, leavesCleanRepositories, useScene } from './scene.ts'

const lines = (count: number, text = 'line') => Array.from({ length: count }, (_, n) => `${text} ${n}\n`).join('')

describe('contents', () => {
  useScene()

  const read = async (path: string) => (await ann.get(path).then(expecting(200))).body
  const linesIn = ({ hunks = [] }: { hunks?: { lines: unknown[] }[] }) =>
    hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0)

  describe('a large diff', () => {
    it('has 3,000 lines of an entity, and all of it by its path', async () => {
      const { at, git } = await aNode()
      git.point(
        'dev',
        git.commit({ files: { exact: lines(3_000), more: lines(3_001), small: 'small\n' }, parents: [git.head()] }),
      )
      const { entities, truncated } = await read(`${at}/commits/dev/diff`)
      const told = entities.map((one: { additions: number; truncated?: true }) => [
        linesIn(one as object),
        one.additions,
        one.truncated,
      ])
      expect(told).to.deep.equal([
        [3_000, 3_000, undefined],
        [3_000, 3_001, true],
        [1, 1, undefined],
      ])
      expect(truncated).to.equal(true)
      const rest = await read(`${at}/commits/dev/diff?path=more`)
      expect([rest.truncated, linesIn(rest.entities[0])]).to.deep.equal([false, 3_001])
    })

    it('has 20,000 lines in all, and names what comes after', async () => {
      const { at, git } = await aNode()
      const files = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`f${n}`, lines(2_500, `f${n}`)]))
      git.point('dev', git.commit({ files, parents: [git.head()] }))
      const { entities, total, truncated } = await read(`${at}/commits/dev/diff`)
      expect([total, truncated, entities.length]).to.deep.equal([9, true, 9])
      expect(entities.reduce((sum: number, one: object) => sum + linesIn(one), 0)).to.equal(20_000)
      expect(entities[7]).to.include({ additions: 2_500 }).and.not.have.property('truncated')
      expect(entities[8]).to.include({ entity_key: 'f8', truncated: true }).and.not.have.any.keys('hunks', 'additions')
    })

    it('stops in the entity with which it is full', async () => {
      const { at, git } = await aNode()
      const files = Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`f${n}`, lines(2_900, `f${n}`)]))
      git.point('dev', git.commit({ files, parents: [git.head()] }))
      const { entities } = await read(`${at}/commits/dev/diff`)
      expect(linesIn(entities[6])).to.equal(20_000 - 6 * 2_900)
      expect(entities[6]).to.include({ truncated: true }).and.not.have.property('additions')
      expect(entities[7]).to.not.have.property('hunks')
    })

    it('of 12,000 files names 10,000 and counts all', async () => {
      const { at, git } = await aNode()
      const oid = git.run(['hash-object', '-w', '--stdin'], { input: 'same\n' }).toString().trim()
      const entries = Array.from({ length: 12_000 }, (_, n) => `100644 blob ${oid}\tn${String(n).padStart(5, '0')}\n`)
      const tree = git
        .run(['mktree'], { input: entries.join('') })
        .toString()
        .trim()
      git.point('dev', git.say('commit-tree', tree, '-m', 'Many'))
      const { entities, total, truncated } = await read(`${at}/commits/dev/diff`)
      expect([entities.length, total, truncated]).to.deep.equal([10_000, 12_000, true])
      expect(entities[9_999]).to.include({ entity_key: 'n09999', additions: 1 })
      const patch = await ann.get(`${at}/commits/dev/diff`, { accept: 'text/x-diff' })
      expect(patch.body.match(/^diff --git /gm)).to.have.length(12_000)
    })

    it('leaves out a line of 2 MiB, reads it by its path, and compares no file of over 8 MiB', async () => {
      const { at, git } = await aNode()
      const [long, huge] = ['x'.repeat(2 * 1_048_576), Buffer.alloc(8 * 1_048_576 + 1, 'y')]
      git.point('dev', git.commit({ files: { long, huge, tail: 'tail\n' }, parents: [git.head()] }))
      const { entities } = await read(`${at}/commits/dev/diff`)
      const [one, two, three] = entities
      expect(one).to.include({ entity_key: 'huge', too_large: true, old_size: null, new_size: huge.length })
      expect(one).to.not.have.any.keys('binary', 'hunks')
      expect(two).to.include({ entity_key: 'long', truncated: true, additions: 1 }).and.deep.include({ hunks: [] })
      expect(three).to.include({ additions: 1 }).and.not.have.property('truncated')
      const alone = await read(`${at}/commits/dev/diff?path=long`)
      expect(alone.entities[0].hunks[0].lines[0].text).to.have.length(long.length)
    })

    it('reads a file of exactly 8 MiB by its path, and both sides of one in the patch', async () => {
      const { at, git } = await aNode()
      const eight = Buffer.alloc(8 * 1_048_576, 'x')
      const first = git.commit({ files: { eight }, parents: [git.head()] })
      git.point('dev', git.commit({ files: { eight: Buffer.alloc(eight.length, 'y') }, parents: [first] }))
      const added = await read(`${at}/commits/${first}/diff?path=eight`)
      expect([added.truncated, added.entities[0].hunks[0].lines[0].text.length]).to.deep.equal([false, eight.length])
      const changed = await read(`${at}/commits/dev/diff?path=eight`)
      expect([changed.truncated, linesIn(changed.entities[0])]).to.deep.equal([true, 1])
      const patch = await ann.get(`${at}/commits/dev/diff?path=eight`, { accept: 'text/x-diff' })
      expect([patch.status, patch.body.length > 2 * eight.length]).to.deep.equal([200, true])
    })

    it('is refused as a patch of over 32 MiB, which is never cut', async () => {
      const { at, git } = await aNode()
      // 6 MiB of text each, so that none of it is deflated.
      const files = Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`f${n}`, lines(550_000, `f${n}`)]))
      git.point('dev', git.commit({ files, parents: [git.head()] }))
      const { status, body } = await ann.get(`${at}/commits/dev/diff`, { accept: 'text/x-diff' })
      expect([status, body.code]).to.deep.equal([413, 'too_large'])
      expect(body.detail).to.include('?path=')
      expect((await ann.get(`${at}/commits/dev/diff?path=f1`, { accept: 'text/x-diff' })).status).to.equal(200)
    })
  })

  describe('all of this', leavesCleanRepositories)
})
