/** Changes that pretend to be an approved one, and honest ones next to them. Each has its expected judgement. */

import { expect } from 'chai'
import type { Sameness } from '../../server/domain/consent/same-change.ts'
import type { Git } from '../support/git.ts'
import { basesByGit, judged, judgedByGit, type Moment, mergedByGit, newRepository, useFolder } from './scene.ts'

type Files = NonNullable<Parameters<Git['commit']>[0]['files']>

/** The state in which every case begins: main, and an approved head on top of it. */
interface Start {
  readonly git: Git
  readonly main: string
  readonly head: string
  /** A commit on top of another, or of several. */
  on(parents: string | readonly string[], files?: Files, message?: string): string
  /** The approved change as Git merges it onto the commit. */
  merged(onto: string, files?: Files): string
}

interface Case {
  readonly name: string
  readonly expected: Sameness
  /** The proposal after the approval. Without `approved`, that is `head` into `main`. */
  readonly build: (start: Start) => { readonly approved?: Moment; readonly present: Moment }
}

const numbers = (changed: Readonly<Record<number, string>> = {}, end = '\n') =>
  Array.from({ length: 20 }, (_, n) => `${changed[n] ?? `line ${n}`}${end}`).join('')

const part = (inner = '') => `## Part\n\nsame\n\n${inner}end\n\n`

const nodeJson = (fields: object) =>
  `${JSON.stringify({ title: 'T', a: 1, b: 1, c: 1, d: 1, e: 1, ...fields }, null, 2)}\n`

const files: Files = {
  'text.md': numbers(),
  'blocks.md': part() + part() + part() + part(),
  'node.json': nodeJson({}),
  'run.sh': '#!/bin/sh\nexit 0\n',
  'image.png': Buffer.from([0, 1, 2, 3, 4, 5, 6, 7]),
  'docs/a.md': numbers(),
  'docs/b.md': 'b\n',
  module: { mode: '160000', oid: 'a'.repeat(40) },
}

/** The approved change. */
const change: Files = {
  'text.md': numbers({ 10: 'approved' }),
  'blocks.md': part() + part('approved\n') + part() + part(),
}

/** The target also changes text.md, at another place. */
const elsewhere: Files = { 'text.md': numbers({ 2: 'main' }) }
const both = numbers({ 2: 'main', 10: 'approved' })

function begin(): Start {
  const git = newRepository()
  const on: Start['on'] = (parents, changed = {}, message = 'A change') =>
    git.commit({ parents: typeof parents === 'string' ? [parents] : parents, files: changed, message })
  const main = git.commit({ files, message: 'Root' })
  const head = on(main, change)
  const merged: Start['merged'] = (onto, more = {}) => {
    const base = basesByGit(git, { target: onto, head })[0] ?? main
    const tree = mergedByGit(git, base, onto, head)
    const commit = git.say('commit-tree', tree ?? '', '-p', onto, '-m', 'Merged')
    return Object.keys(more).length === 0 ? commit : on(commit, more)
  }
  return { git, main, head, on, merged }
}

const cases: readonly Case[] = [
  {
    name: 'nothing happened',
    expected: 'same_commit',
    build: ({ main, head }) => ({ present: { target: main, head } }),
  },
  {
    name: 'the target moved, the branch did not',
    expected: 'same_commit',
    build: ({ main, head, on }) => ({ present: { target: on(main, elsewhere), head } }),
  },
  {
    name: 'the target took in a part of the change',
    expected: 'same_commit',
    build: ({ main, head, on }) => {
      const last = on(head, { 'docs/b.md': 'more\n' })
      return { approved: { target: main, head: last }, present: { target: head, head: last } }
    },
  },
  {
    name: 'rebased onto a target that changed the same file elsewhere',
    expected: 'same_change',
    build: ({ main, on, merged }) => {
      const target = on(main, elsewhere)
      return { present: { target, head: merged(target) } }
    },
  },
  {
    name: 'the target was merged into the branch',
    expected: 'same_change',
    build: ({ main, head, on }) => {
      const target = on(main, elsewhere)
      return { present: { target, head: on([head, target], { 'text.md': both }) } }
    },
  },
  {
    name: 'an evil merge: the target was merged into the branch, with one more line',
    expected: 'other',
    build: ({ main, head, on }) => {
      const target = on(main, elsewhere)
      return { present: { target, head: on([head, target], { 'text.md': `${both}evil\n` }) } }
    },
  },
  {
    name: 'a merge that drops what the target has',
    expected: 'other',
    build: ({ main, head, on }) => {
      const target = on(main, elsewhere)
      return { present: { target, head: on([head, target]) } }
    },
  },
  {
    name: 'another branch was merged in with its content taken out again',
    expected: 'same_change',
    build: ({ main, head, on }) => ({ present: { target: main, head: on([head, on(main, { x: 'x' })]) } }),
  },
  {
    name: 'squashed and reworded',
    expected: 'same_change',
    build: ({ main, head, on }) => {
      const two = on(head, { 'docs/b.md': 'two\n' })
      const squashed = on(main, { ...change, 'docs/b.md': 'two\n' }, 'Better words')
      return { approved: { target: main, head: two }, present: { target: main, head: squashed } }
    },
  },
  {
    name: 'an empty commit was added',
    expected: 'same_change',
    build: ({ main, head, on }) => ({ present: { target: main, head: on(head) } }),
  },
  {
    name: 'an empty commit was added, then a change',
    expected: 'other',
    build: ({ main, head, on }) => ({ present: { target: main, head: on(on(head), { 'docs/b.md': 'evil\n' }) } }),
  },
  {
    name: 'reverted',
    expected: 'other',
    build: ({ main, head, on }) => ({ present: { target: main, head: on(head, files) } }),
  },
  {
    name: 'reverted and reapplied',
    expected: 'same_change',
    build: ({ main, head, on }) => ({ present: { target: main, head: on(on(head, files), change) } }),
  },
  {
    name: 'a part of the change was taken back',
    expected: 'other',
    build: ({ main, head, on }) => ({
      present: { target: main, head: on(head, { 'blocks.md': files['blocks.md'] ?? null }) },
    }),
  },
  {
    name: 'the target has the same patch already',
    expected: 'same_change',
    build: ({ main, on }) => {
      const target = on(on(main, elsewhere), { ...change, 'text.md': both })
      return { present: { target, head: on(target) } }
    },
  },
  {
    name: 'retargeted: the base moves back, and commits that nobody approved come in',
    expected: 'other',
    build: ({ main, on }) => {
      const unapproved = on(main, { 'docs/b.md': 'unapproved\n' })
      const head = on(unapproved, change)
      return { approved: { target: unapproved, head }, present: { target: main, head } }
    },
  },
  {
    name: 'retargeted below commits that change nothing together',
    expected: 'same_change',
    build: ({ main, on }) => {
      const noise = on(on(main, { x: 'x' }), { x: null })
      const head = on(noise, change)
      return { approved: { target: noise, head }, present: { target: main, head } }
    },
  },
  {
    name: 'the base of a stack was dropped, its commits stay',
    expected: 'other',
    build: ({ main, on }) => {
      const stack = on(main, { 'docs/b.md': 'stack\n' })
      const head = on(stack, change)
      const target = on(main, elsewhere)
      return { approved: { target: stack, head }, present: { target, head } }
    },
  },
  {
    name: 'the base of a stack was dropped, and the change rebased without it',
    expected: 'same_change',
    build: ({ main, on }) => {
      const stack = on(main, { 'docs/b.md': 'stack\n' })
      const target = on(main, elsewhere)
      const present = { target, head: on(target, { ...change, 'text.md': both }) }
      return { approved: { target: stack, head: on(stack, change) }, present }
    },
  },
  {
    name: 'the old tree on a new base, which removes what others added',
    expected: 'other',
    build: ({ main, on }) => {
      const target = on(main, { 'added.md': 'by others\n' })
      return { present: { target, head: on(target, { ...change, 'added.md': null }) } }
    },
  },
  {
    name: 'the same patch at a like place of the same file',
    expected: 'other',
    build: ({ main, on }) => {
      const moved = part() + part() + part('approved\n') + part()
      return { present: { target: main, head: on(main, { ...change, 'blocks.md': moved }) } }
    },
  },
  {
    name: 'the same patch in another file of the same text',
    expected: 'other',
    build: ({ main, on }) => {
      const approved = on(main, { 'text.md': numbers({ 10: 'approved' }) })
      const present = { target: main, head: on(main, { 'docs/a.md': numbers({ 10: 'approved' }) }) }
      return { approved: { target: main, head: approved }, present }
    },
  },
  {
    name: 'criss-cross merges: the same head',
    expected: 'same_commit',
    build: (start) => {
      const { target, head } = crissCross(start)
      return { approved: { target, head }, present: { target, head } }
    },
  },
  {
    name: 'criss-cross merges: another head with the same tree',
    expected: 'other',
    build: (start) => {
      const { target, head } = crissCross(start)
      return { approved: { target, head }, present: { target, head: start.on(head) } }
    },
  },
  {
    name: 'criss-cross merges: the same head into another target',
    expected: 'other',
    build: (start) => {
      const { target, head } = crissCross(start)
      return { approved: { target, head }, present: { target: start.main, head } }
    },
  },
  {
    name: 'unrelated histories: the same head',
    expected: 'same_commit',
    build: ({ git, main }) => {
      const head = git.commit({ files: { a: 'a\n' } })
      return { approved: { target: main, head }, present: { target: main, head } }
    },
  },
  {
    name: 'unrelated histories: another head with the same tree',
    expected: 'other',
    build: ({ git, main, on }) => {
      const head = git.commit({ files: { a: 'a\n' } })
      return { approved: { target: main, head }, present: { target: main, head: on(head) } }
    },
  },
  {
    name: 'a submodule points to another commit',
    expected: 'other',
    build: ({ main, head, on }) => ({
      present: { target: main, head: on(head, { module: { mode: '160000', oid: 'b'.repeat(40) } }) },
    }),
  },
  {
    name: 'a submodule that was approved, rebased',
    expected: 'same_change',
    build: ({ main, on }) => {
      const moved = { module: { mode: '160000', oid: 'b'.repeat(40) } }
      const target = on(main, elsewhere)
      return { approved: { target: main, head: on(main, moved) }, present: { target, head: on(target, moved) } }
    },
  },
  {
    name: 'both sides moved a submodule, and the branch wins',
    expected: 'other',
    build: ({ main, on }) => {
      const moved = { module: { mode: '160000', oid: 'b'.repeat(40) } }
      const target = on(main, { module: { mode: '160000', oid: 'c'.repeat(40) } })
      return { approved: { target: main, head: on(main, moved) }, present: { target, head: on(target, moved) } }
    },
  },
  {
    name: 'only the mode changed',
    expected: 'other',
    build: ({ main, head, on }) => ({
      present: { target: main, head: on(head, { 'run.sh': { mode: '100755', content: '#!/bin/sh\nexit 0\n' } }) },
    }),
  },
  {
    name: 'a file became a symlink with the same bytes',
    expected: 'other',
    build: ({ main, head, on }) => ({
      present: { target: main, head: on(head, { 'docs/b.md': { mode: '120000', content: 'b\n' } }) },
    }),
  },
  {
    name: 'a symlink that was approved points elsewhere',
    expected: 'other',
    build: ({ main, on }) => {
      const link = (content: string) => on(main, { link: { mode: '120000', content } })
      return {
        approved: { target: main, head: link('text.md') },
        present: { target: main, head: link('/etc/passwd') },
      }
    },
  },
  {
    name: 'the target renamed the file that the change edits',
    expected: 'same_change',
    build: ({ main, on, merged }) => {
      const target = on(main, { 'text.md': null, 'new.md': numbers() })
      return { present: { target, head: merged(target) } }
    },
  },
  {
    name: 'the target renamed the file, and the branch writes it again at its old path',
    expected: 'other',
    build: ({ main, on }) => {
      const target = on(main, { 'text.md': null, 'new.md': numbers() })
      return { present: { target, head: on(target, change) } }
    },
  },
  {
    name: 'a file became a folder',
    expected: 'other',
    build: ({ main, head, on }) => ({
      present: { target: main, head: on(head, { 'docs/b.md': null, 'docs/b.md/b.md': 'b\n' }) },
    }),
  },
  {
    name: 'the target made a folder of the file that the change edits',
    expected: 'other',
    build: ({ main, on }) => {
      const approved = on(main, { 'docs/b.md': 'b\napproved\n' })
      const target = on(main, { 'docs/b.md': null, 'docs/b.md/c.md': 'c\n' })
      const present = { target, head: on(target, { 'docs/b.md/b.md': 'b\napproved\n' }) }
      return { approved: { target: main, head: approved }, present }
    },
  },
  {
    name: 'only white space changed',
    expected: 'other',
    build: ({ main, head, on }) => ({
      present: { target: main, head: on(head, { 'text.md': numbers({ 10: 'approved ' }) }) },
    }),
  },
  {
    name: 'line ends became CRLF',
    expected: 'other',
    build: ({ main, head, on }) => ({
      present: { target: main, head: on(head, { 'text.md': numbers({ 10: 'approved' }, '\r\n') }) },
    }),
  },
  {
    name: 'a binary file changed by one byte',
    expected: 'other',
    build: ({ main, head, on }) => ({
      present: { target: main, head: on(head, { 'image.png': Buffer.from([0, 1, 2, 3, 4, 5, 6, 8]) }) },
    }),
  },
  {
    name: 'both sides changed a binary file, and the branch wins',
    expected: 'other',
    build: ({ main, on }) => {
      const image = { 'image.png': Buffer.from([0, 9, 9, 9]) }
      const target = on(main, { 'image.png': Buffer.from([0, 8, 8, 8]) })
      return { approved: { target: main, head: on(main, image) }, present: { target, head: on(target, image) } }
    },
  },
  {
    name: 'a property of node.json was added',
    expected: 'other',
    build: ({ main, head, on }) => ({
      present: { target: main, head: on(head, { 'node.json': nodeJson({ status: 'final' }) }) },
    }),
  },
  {
    name: 'both sides edited node.json at distant lines',
    expected: 'same_change',
    build: ({ main, on }) => {
      const target = on(main, { 'node.json': nodeJson({ title: 'Main' }) })
      return {
        approved: { target: main, head: on(main, { 'node.json': nodeJson({ e: 2 }) }) },
        present: { target, head: on(target, { 'node.json': nodeJson({ title: 'Main', e: 2 }) }) },
      }
    },
  },
  {
    name: 'the change deletes a file that the target has modified',
    expected: 'other',
    build: ({ main, on }) => {
      const target = on(main, { 'docs/b.md': 'better\n' })
      const approved = { target: main, head: on(main, { 'docs/b.md': null }) }
      return { approved, present: { target, head: on(target, { 'docs/b.md': null }) } }
    },
  },
  {
    name: 'an edge was added',
    expected: 'other',
    build: ({ main, head, on }) => ({
      present: { target: main, head: on(head, { 'parents/0190.json': '{"type": "child"}\n' }) },
    }),
  },
  {
    name: 'a conflict was resolved as it was approved',
    expected: 'other',
    build: ({ main, on }) => {
      const target = on(main, { 'text.md': numbers({ 10: 'main' }) })
      return { present: { target, head: on(target, change) } }
    },
  },
  {
    name: 'a conflict that attributes would hide with both versions',
    expected: 'other',
    build: ({ git, on }) => {
      const start = git.commit({ files: { ...files, '.gitattributes': '*.md merge=union\n' } })
      git.point('main', start)
      const target = on(start, { 'text.md': numbers({ 10: 'main' }) })
      const present = { target, head: on(target, { ...change, 'text.md': numbers({ 10: 'main\napproved' }) }) }
      return { approved: { target: start, head: on(start, change) }, present }
    },
  },
  {
    name: 'two files exchanged their texts',
    expected: 'other',
    build: ({ main, on }) => ({
      approved: { target: main, head: on(main, { x: 'x\n', y: 'y\n' }) },
      present: { target: main, head: on(main, { x: 'y\n', y: 'x\n' }) },
    }),
  },
  {
    name: 'a paragraph was moved to another place',
    expected: 'other',
    build: ({ main, on }) => {
      const moved = (at: number) => {
        const lines = numbers().split('\n')
        lines.splice(at, 0, ...lines.splice(3, 2))
        return on(main, { 'text.md': lines.join('\n') })
      }
      return { approved: { target: main, head: moved(12) }, present: { target: main, head: moved(13) } }
    },
  },
  {
    name: 'a path differs only in case',
    expected: 'other',
    build: ({ main, on }) => ({
      approved: { target: main, head: on(main, { 'new.md': 'new\n' }) },
      present: { target: main, head: on(main, { 'New.md': 'new\n' }) },
    }),
  },
]

/** A target and a head with two merge bases. */
function crissCross({ main, head, on }: Start): Moment {
  const other = on(main, { 'docs/b.md': 'other\n' })
  return { target: on([other, head], change), head: on([head, other], { 'docs/b.md': 'other\n', x: 'x\n' }) }
}

describe('an approved change, attacked', () => {
  useFolder()

  for (const { name, expected, build } of cases)
    it(`${expected}: ${name}`, async () => {
      const start = begin()
      const { approved = { target: start.main, head: start.head }, present } = build(start)
      expect(await judged(start.git, approved, present)).to.equal(expected)
      expect(judgedByGit(start.git, approved, present), 'by native Git').to.equal(expected)
    })

  it('is told apart where git patch-id sees no difference', async () => {
    const { git, main, head, on } = begin()
    const moved = on(main, { ...change, 'blocks.md': part() + part() + part('approved\n') + part() })
    const patchId = (oid: string) => {
      const patch = git.run(['diff-tree', '-p', main, oid])
      return git.run(['patch-id', '--verbatim'], { input: patch }).toString().split(' ')[0]
    }
    expect(patchId(moved)).to.equal(patchId(head))
    expect(await judged(git, { target: main, head }, { target: main, head: moved })).to.equal('other')
  })

  it('has several merge bases where criss-cross merges are tried', () => {
    const start = begin()
    expect(basesByGit(start.git, crissCross(start))).to.have.length(2)
  })
})
