/** Whether a rebased change is the same, against stock `git rebase` and `git merge` in a clone. */

import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { runningGits } from '../../gitstore/native.ts'
import { type Change, compareChanges, mergeBaseOf } from '../../server/domain/consent/same-change.ts'
import type { Git } from '../support/git.ts'
import { until } from '../support/until.ts'
import {
  basesByGit,
  type Clone,
  changeOf,
  cloneOf,
  judged,
  judgedByGit,
  type Moment,
  mergedByGit,
  newRepository,
  nodeOf,
  useFolder,
} from './scene.ts'

/** Lines of the files. Most occur several times, so that contexts are alike. */
const firstFiles: Readonly<Record<string, readonly string[]>> = {
  'a.md': [1, 2, 3].flatMap((n) => ['## Part', '', 'same', 'same', '', `text ${n}`, '', 'end', '']),
  'b.md': Array.from({ length: 16 }, (_, n) => `line ${n}`),
  'docs/c.md': ['x', 'y', 'x', 'y', 'x', 'y', 'x', 'y'],
}

type Files = Readonly<Record<string, readonly string[]>>

interface Edit {
  readonly kind: 'insert' | 'remove' | 'replace' | 'move' | 'rename' | 'add'
  readonly file: number
  readonly at: number
  readonly to: number
  readonly text: string
}

const editArbitrary: fc.Arbitrary<Edit> = fc.record({
  kind: fc.constantFrom('insert', 'insert', 'remove', 'replace', 'replace', 'move', 'rename', 'add'),
  file: fc.nat(9),
  at: fc.nat(30),
  to: fc.nat(30),
  text: fc.constantFrom('same', 'new', '', '## Part', 'x'),
})
const commitsArbitrary = fc.array(fc.array(editArbitrary, { minLength: 1, maxLength: 2 }), {
  minLength: 1,
  maxLength: 3,
})
const historyArbitrary = fc.record({ branch: commitsArbitrary, main: commitsArbitrary })

function edited(files: Files, { kind, file, at, to, text }: Edit, side: string): Files {
  const names = Object.keys(files)
  const name = names[file % names.length] ?? ''
  const lines = [...(files[name] ?? [])]
  const { [name]: _, ...others } = files
  if (kind === 'add') return { ...files, [`${side}-${to}.md`]: [text, side] }
  if (kind === 'rename') return { ...others, [`docs/${side}-${at % 3}.md`]: lines }
  const place = at % (lines.length + 1)
  if (kind === 'insert') lines.splice(place, 0, text)
  else if (kind === 'remove') lines.splice(place, 2)
  else if (kind === 'replace') lines.splice(place, 1, `${text} ${side}`)
  else lines.splice(to % (lines.length + 1), 0, ...lines.splice(place, 3))
  return { ...files, [name]: lines }
}

/** Commits one after the other on `parent`. The last of them. */
function commitAll(git: Git, parent: string, edits: readonly (readonly Edit[])[], side: string): string {
  let files: Files = firstFiles
  let head = parent
  for (const [n, some] of edits.entries()) {
    const before = Object.keys(files)
    files = some.reduce((now, edit) => edited(now, edit, side), files)
    const gone = before.filter((name) => !(name in files)).map((name) => [name, null])
    head = git.commit({
      parents: [head],
      files: { ...Object.fromEntries(gone), ...textsOf(files) },
      message: `${side} ${n}`,
    })
  }
  return head
}

function textsOf(files: Files): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([name, lines]) => [name, `${lines.join('\n')}\n`]))
}

const treeOf = (git: Git, commit: string) => git.say('rev-parse', `${commit}^{tree}`)

/** The head after `git rebase` in the clone; undefined if it stops at a conflict. */
function rebased({ say, tries }: Clone, onto: string, head: string): string | undefined {
  say('checkout', '-q', '--force', '--detach', head)
  if (tries('rebase', '-q', onto)) return say('rev-parse', 'HEAD')
  say('rebase', '--abort')
  return undefined
}

function mergedInto({ say, tries }: Clone, head: string, target: string): string | undefined {
  say('checkout', '-q', '--force', '--detach', head)
  if (tries('merge', '-q', '--no-ff', '-m', 'Merge', target)) return say('rev-parse', 'HEAD')
  say('merge', '--abort')
  return undefined
}

describe('an approved change', () => {
  useFolder()

  it('is the same after stock git has rebased, squashed, reworded or merged it, and another after any other edit', async () => {
    const git = newRepository()
    const clone = cloneOf(git)
    const root = git.commit({ files: textsOf(firstFiles), message: 'Root' })
    const seen = { rebased: 0, stopped: 0, conflicts: 0 }
    const say = async (approved: Moment, present: Moment, words: string) => {
      const ours = await judged(git, approved, present)
      expect(ours, words).to.equal(judgedByGit(git, approved, present))
      return ours
    }
    for (const [n, history] of fc.sample(historyArbitrary, { numRuns: 24, seed: 35 }).entries()) {
      const words = `${n}: ${JSON.stringify(history)}`
      const head = commitAll(git, root, history.branch, 'branch')
      const target = commitAll(git, root, history.main, 'main')
      const approved: Moment = { target: root, head }
      const whole = mergedByGit(git, root, target, head)
      if (whole === undefined) seen.conflicts++

      const squashed = git.say('commit-tree', `${head}^{tree}`, '-p', root, '-m', `Squashed ${n}`)
      expect(await say(approved, { target: root, head: squashed }, words)).to.equal('same_change')

      const onto = rebased(clone, target, head)
      if (onto === undefined) seen.stopped++
      else {
        const isWhole = treeOf(git, onto) === whole
        if (isWhole) seen.rebased++
        expect(await say(approved, { target, head: onto }, words)).to.equal(isWhole ? 'same_change' : 'other')
        const tampered = git.commit({ parents: [onto], files: { 'docs/c.md': `tampered ${n}\n` } })
        expect(await say(approved, { target, head: tampered }, words)).to.equal('other')
      }
      const merge = mergedInto(clone, head, target)
      expect(merge === undefined, words).to.equal(whole === undefined)
      if (merge !== undefined) expect(await say(approved, { target, head: merge }, words)).to.equal('same_change')
      // The old tree on the new base: the same only if the target changed nothing that lasts.
      const old = git.say('commit-tree', `${head}^{tree}`, '-p', target, '-m', 'Old tree')
      const isSame = whole === treeOf(git, head)
      expect(await say(approved, { target, head: old }, words)).to.equal(isSame ? 'same_change' : 'other')
    }
    // Enough of each that the comparison says something.
    expect(seen.rebased, JSON.stringify(seen)).to.be.greaterThan(5)
    expect(seen.stopped, JSON.stringify(seen)).to.be.greaterThan(1)
    expect(seen.conflicts, JSON.stringify(seen)).to.be.greaterThan(1)
  })

  it('has one base, or none if git names none or several', async () => {
    const git = newRepository()
    const anyParents = fc.oneof(
      { weight: 12, arbitrary: fc.uniqueArray(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 2 }) },
      { weight: 1, arbitrary: fc.constant([]) },
    )
    const parentsArbitrary = fc.array(anyParents, { minLength: 20, maxLength: 20 })
    const seen = { none: 0, one: 0, several: 0 }
    for (const [n, graph] of fc.sample(parentsArbitrary, { numRuns: 6, seed: 9 }).entries()) {
      const tree = git.say('hash-object', '-w', '-t', 'tree', '/dev/null')
      const oids: string[] = []
      for (const [at, backs] of graph.entries()) {
        const parents = backs.map((back) => oids[at - back]).filter((oid) => oid !== undefined)
        oids.push(git.say('commit-tree', tree, ...parents.flatMap((oid) => ['-p', oid]), '-m', `${n} ${at}`))
      }
      const { history } = nodeOf(git)
      for (const target of oids.slice(-6))
        for (const head of oids.slice(-6)) {
          const bases = basesByGit(git, { target, head })
          seen[bases.length === 0 ? 'none' : bases.length === 1 ? 'one' : 'several']++
          expect(await mergeBaseOf(history, target, head)).to.equal(bases.length === 1 ? bases[0] : null)
        }
    }
    expect(Math.min(...Object.values(seen)), JSON.stringify(seen)).to.be.greaterThan(5)
  })

  describe('that only Git can merge', () => {
    let git: Git
    let approved: Change
    let present: Change
    let other: Change

    beforeEach(async () => {
      git = newRepository()
      const text = (first: string, last: string) => `${first}\n2\n3\n4\n5\n6\n${last}\n`
      const root = git.commit({ files: { a: text('1', '7') } })
      const target = git.commit({ parents: [root], files: { a: text('one', '7') } })
      const head = git.commit({ parents: [root], files: { a: text('1', 'seven') } })
      const merged = git.commit({ parents: [target], files: { a: text('one', 'seven') } })
      approved = await changeOf(git, { target: root, head })
      present = await changeOf(git, { target, head: merged })
      other = await changeOf(git, { target, head: git.commit({ parents: [merged], files: { a: text('1', 'seven') } }) })
    })

    it('is merged once for all who ask at once, and never again', async () => {
      const hold = holdGit(git)
      const caller = new AbortController()
      const leaves = compareChanges(nodeOf(git), approved, present, caller.signal).catch((error: unknown) => error)
      const asked = Array.from({ length: 5 }, () => compareChanges(nodeOf(git), approved, present))
      await until(() => runningGits() === 1)
      const gone = new Error('gone')
      caller.abort(gone)
      expect(await leaves).to.equal(gone)
      expect(runningGits()).to.equal(1)
      await hold.end(Promise.all(asked))
      expect(await Promise.all(asked)).to.deep.equal(Array(5).fill('same_change'))

      const held = holdGit(git)
      expect(await compareChanges(nodeOf(git), approved, present)).to.equal('same_change')
      const left = await compareChanges(nodeOf(git), approved, other, AbortSignal.abort(gone)).catch((error) => error)
      expect(left).to.equal(gone)
      expect(runningGits()).to.equal(0)
      held.remove()
      expect(await compareChanges(nodeOf(git), approved, other)).to.equal('other')
    })

    it('is refused while too many changes of one repository are compared, and not of another', async () => {
      const heads = git
        .run(['fast-import', '--quiet'], {
          input: Array.from(
            { length: 131 },
            (_, n) =>
              `commit refs/t\nmark :${n + 1}\ncommitter A <a@x.org> ${n} +0000\ndata 0\nfrom ${present.head}\n\nget-mark :${n + 1}\n`,
          ).join(''),
        })
        .toString('latin1')
        .trim()
        .split('\n')
      const calm = newRepository()
      const root = calm.commit({ files: { a: 'a\n' } })
      const target = calm.commit({ parents: [root], files: { b: 'b\n' } })
      const head = calm.commit({ parents: [root], files: { a: 'A\n' } })
      const merged = calm.commit({ parents: [target], files: { a: 'A\n' } })

      const hold = holdGit(git)
      const asked = heads.map((oid) =>
        compareChanges(nodeOf(git), approved, { ...present, head: oid }).catch((error: { code: string }) => error.code),
      )
      const calmly = judged(calm, { target: root, head }, { target, head: merged })
      expect(await Promise.race(asked)).to.equal('busy')
      expect(await calmly).to.equal('same_change')
      await hold.end(Promise.all(asked))
      const answers = await Promise.all(asked)
      expect(answers.filter((answer) => answer === 'busy')).to.have.length(1)
      expect(answers.filter((answer) => answer === 'same_change')).to.have.length(130)
      expect(await compareChanges(nodeOf(git), approved, { ...present, head: heads[130] ?? '' })).to.equal(
        'same_change',
      )
    })
  })

  it('is another while a commit is missing, and the same once it is back', async () => {
    const git = newRepository()
    const root = git.commit({ files: { a: 'a\n' } })
    const head = git.commit({ parents: [root], files: { a: 'A\n' } })
    const reworded = git.commit({ parents: [root], files: { a: 'A\n' }, message: 'Reworded' })
    const [approved, present] = [
      { base: root, head },
      { base: root, head: reworded },
    ]
    // The process has not read these commits, so it does not remember them.
    const object = join(git.dir, 'objects', head.slice(0, 2), head.slice(2))
    const missing = `${object}.missing`
    execFileSync('mv', [object, missing])
    expect(await compareChanges(nodeOf(git), approved, present)).to.equal('other')
    const same = { base: root, head: reworded }
    expect(await compareChanges(nodeOf(git), same, present)).to.equal('same_commit')
    expect(await compareChanges(nodeOf(git), { base: 'f'.repeat(40), head: reworded }, present)).to.equal('other')
    expect(await compareChanges(nodeOf(git), same, { base: 'f'.repeat(40), head: reworded })).to.equal('other')
    execFileSync('mv', [missing, object])
    expect(await compareChanges(nodeOf(git), approved, present)).to.equal('same_change')
  })
})

/** Makes every Git process in the repository wait for a writer of its configuration. */
function holdGit({ dir }: Git) {
  const pipe = join(dir, 'pipe')
  execFileSync('mkfifo', [pipe])
  execFileSync('git', ['config', '--file', join(dir, 'config'), 'include.path', pipe])
  const forget = () => execFileSync('git', ['config', '--file', join(dir, 'config'), '--unset', 'include.path'])
  const remove = () => execFileSync('rm', [pipe])
  return {
    remove: () => {
      forget()
      remove()
    },
    /** Lets all of them go, until the work has ended. */
    end: async (work: Promise<unknown>) => {
      forget()
      let isDone = false
      void work.finally(() => {
        isDone = true
      })
      await until(() => {
        letOneGo(pipe)
        return isDone
      })
      remove()
    },
  }
}

function letOneGo(pipe: string): void {
  try {
    closeSync(openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK))
  } catch {
    // No process waits.
  }
}
