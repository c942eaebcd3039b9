/** Anchors on later commits of real repositories. */

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { findRenames } from '../../gitstore/objects/renames.ts'
import type { Anchor } from '../../server/domain/format/anchors.ts'
import { looseFile } from '../support/git.ts'
import { countTurns } from '../support/turns.ts'
import { newRepository, placeIn, useFolder } from './scene.ts'

const linesUpTo = (last: number) => `${Array.from({ length: last }, (_, n) => `Line ${n + 1}`).join('\n')}\n`

describe('placing anchors', () => {
  useFolder()

  it('answers in the order of the anchors, whatever their files and commits', async () => {
    const git = newRepository()
    const one = git.commit({ files: { 'a.md': 'one\ntwo\nthree\n', 'b.md': 'alpha\nbeta\n', 'c.png': 'picture' } })
    const two = git.commit({ files: { 'a.md': 'zero\none\ntwo\nthree\n' }, parents: [one] })
    const head = git.commit({ files: { 'b.md': 'alpha\nBETA\n', 'c.png': 'other' }, parents: [two] })
    const anchors: Anchor[] = [
      { commit: one, path: 'a.md', first_line: 2, num_lines: 2 },
      { commit: one, path: 'b.md', first_line: 2, num_lines: 1 },
      { commit: two, path: 'a.md', first_line: 2, num_lines: 2 },
      { commit: one, path: 'c.png' },
      { commit: one, path: 'b.md', first_line: 1, num_lines: 1 },
    ]
    const at = { commit: head }
    expect(await placeIn(git, head, anchors)).to.deep.equal([
      { outdated: false, place: { ...at, path: 'a.md', first_line: 3, num_lines: 2 } },
      { outdated: true, near: { ...at, path: 'b.md', first_line: 2 } },
      { outdated: false, place: { ...at, path: 'a.md', first_line: 2, num_lines: 2 } },
      { outdated: false, place: { ...at, path: 'c.png' } },
      { outdated: false, place: { ...at, path: 'b.md', first_line: 1, num_lines: 1 } },
    ])
    expect(await placeIn(git, head, [])).to.deep.equal([])
  })

  it('keeps a comment on lines that the pull request removes at the base', async () => {
    const git = newRepository()
    const old = git.commit({ files: { 'a.md': 'one\ntwo\nthree\n' } })
    const base = git.commit({ files: { 'a.md': 'top\none\ntwo\nthree\n' }, parents: [old] })
    const reviewed = git.commit({ files: { 'a.md': 'top\none\nthree\nfour\n' }, parents: [base] })
    const head = git.commit({ files: { 'a.md': 'top\none\nthree\n' }, parents: [reviewed] })
    const line = (commit: string, first_line: number): Anchor => ({ commit, path: 'a.md', first_line, num_lines: 1 })
    const anchors = [line(old, 2), line(base, 3), line(reviewed, 4), line(old, 3)]
    const near = { commit: head, path: 'a.md', first_line: 3 }
    expect(await placeIn(git, head, anchors, base)).to.deep.equal([
      { outdated: false, place: { commit: base, path: 'a.md', first_line: 3, num_lines: 1 } },
      { outdated: false, place: { commit: base, path: 'a.md', first_line: 3, num_lines: 1 } },
      { outdated: true, near },
      { outdated: false, place: { commit: head, path: 'a.md', first_line: 3, num_lines: 1 } },
    ])
    expect(await placeIn(git, head, [line(old, 2)])).to.deep.equal([{ outdated: true, near }])
    const added = git.commit({ files: { 'a.md': 'top\none\ntwo\nthree\nfour\n' }, parents: [base] })
    expect(await placeIn(git, head, [line(added, 3)], base), 'not of the base').to.deep.equal([
      { outdated: true, near },
    ])
    const removed = git.commit({ files: { 'a.md': null, 'z.md': 'z' }, parents: [base] })
    expect(await placeIn(git, removed, [line(old, 1), { commit: base, path: 'a.md' }], base)).to.deep.equal([
      { outdated: false, place: { commit: base, path: 'a.md', first_line: 2, num_lines: 1 } },
      { outdated: false, place: { commit: base, path: 'a.md' } },
    ])
  })

  it('follows the renames that Git finds', async () => {
    const git = newRepository()
    const text = (name: string, changed: number) =>
      Array.from({ length: 20 }, (_, n) => `${name} ${n}${n < changed ? ' changed' : ''}\n`).join('')
    const names = ['a', 'b', 'c', 'd', 'é', 'f']
    const before = Object.fromEntries(names.map((name) => [`${name}.md`, text(name, 0)]))
    const first = git.commit({ files: { ...before, 'kept.md': 'kept' } })
    const moves = { a: 'x/a.md', b: 'b2.md', c: 'c2.md', d: 'd2.md', é: 'è\n.md', f: 'f2.md' }
    const changed = { a: 0, b: 5, c: 9, d: 15, é: 1, f: 20 }
    const after = names.flatMap((name): [string, string | null][] => [
      [`${name}.md`, null],
      [Reflect.get(moves, name), text(name, Reflect.get(changed, name))],
    ])
    const head = git.commit({ files: Object.fromEntries(after), parents: [first] })
    const said = git.run(['diff-tree', '-r', '-z', '-M50%', '--name-status', first, head]).toString().split('\0')
    const renamed = new Map(
      said.flatMap((word, at) => (/^R\d+$/.test(word) ? [[said[at + 1], said[at + 2]]] : [])) as [string, string][],
    )
    expect(renamed.size).to.be.within(3, 5)
    const anchors = names.map((name): Anchor => ({ commit: first, path: `${name}.md`, first_line: 20, num_lines: 1 }))
    const expected = anchors.map(({ path }) => {
      const to = renamed.get(path)
      return to === undefined
        ? { outdated: true }
        : { outdated: false, place: { commit: head, path: to, first_line: 20, num_lines: 1 } }
    })
    expect(await placeIn(git, head, anchors)).to.deep.equal(expected)
    expect(await placeIn(git, head, anchors), 'from memory').to.deep.equal(expected)
  })

  it.deep('follows thousands of renames, and above 200 only those of the same bytes', async () => {
    const git = newRepository()
    const folder = 'a folder with a long name '.repeat(4)
    const numbers = Array.from({ length: 3_000 }, (_, n) => n)
    const edited = numbers.filter((n) => n % 10 === 0)
    const text = (n: number) => `${linesUpTo(20)}File ${n}\n`
    const first = git.commit({ files: Object.fromEntries(numbers.map((n) => [`${n}.md`, text(n)])) })
    const files = numbers.flatMap((n): [string, string | null][] => [
      [`${n}.md`, null],
      [`${folder}/new-${n}.md`, edited.includes(n) ? text(n).replace('Line 7', 'Line seven') : text(n)],
    ])
    const head = git.commit({ files: Object.fromEntries(files), parents: [first] })
    const placed = await placeIn(
      git,
      head,
      numbers.map((n) => ({ commit: first, path: `${n}.md` })),
    )
    expect(placed).to.deep.equal(
      numbers.map((n) =>
        edited.includes(n)
          ? { outdated: true }
          : { outdated: false, place: { commit: head, path: `${folder}/new-${n}.md` } },
      ),
    )
  })

  it('does without renames if Git takes too long, and does not ask again at once', async () => {
    const git = newRepository()
    const treeOf = (name: string) => {
      const files = [1, 2].map((n): [string, string] => [`${name}-${n}.md`, `${linesUpTo(20)}File ${n}\n`])
      return git.say('rev-parse', `${git.commit({ files: Object.fromEntries(files) })}^{tree}`)
    }
    const [from, to] = [treeOf('a'), treeOf('b')]
    const find = async (path: string, timeoutMs: number) =>
      Object.fromEntries(await findRenames({ dir: git.dir }, { from, to }, [path], { timeoutMs }))
    // Git waits for a writer of its configuration, for ever.
    const pipe = join(git.dir, 'pipe')
    execFileSync('mkfifo', [pipe])
    git.say('config', 'include.path', pipe)
    expect(await find('a-1.md', 100)).to.deep.equal({})
    rmSync(pipe)
    expect(await find('a-1.md', 60_000), 'for ten minutes').to.deep.equal({})
    expect(await find('a-2.md', 60_000), 'another file').to.deep.equal({ 'a-2.md': 'b-2.md' })
  })

  it('finds a quote in the lines that replaced its own, and values by their pointers', async () => {
    const git = newRepository()
    const json = (status: string, more = {}) => JSON.stringify({ title: 'Whales', properties: { status, ...more } })
    const first = git.commit({ files: { 'content.md': '# Whales\n\nThe whale eats.\n', 'node.json': json('draft') } })
    const files = { 'content.md': '# Whales\n\nAt night\nthe whale sleeps.\n', 'node.json': json('final', { x: 1 }) }
    const head = git.commit({ files, parents: [first] })
    const lines = { commit: first, path: 'content.md', first_line: 3, num_lines: 1 }
    const value = (pointer: string): Anchor => ({ commit: first, path: 'node.json', pointer })
    const anchors = [
      { ...lines, quote: { exact: 'whale' } },
      lines,
      value('/title'),
      value('/properties/status'),
      value(''),
    ]
    const now = { commit: head, path: 'node.json' }
    expect(await placeIn(git, head, anchors)).to.deep.equal([
      { outdated: false, place: { commit: head, path: 'content.md', first_line: 4, num_lines: 1 } },
      { outdated: true, near: { commit: head, path: 'content.md', first_line: 3 } },
      { outdated: false, place: { ...now, pointer: '/title' } },
      { outdated: true, near: { ...now, first_line: 1 } },
      { outdated: true, near: { ...now, first_line: 1 } },
    ])
  })

  it('is outdated without a line if the commit, its file or its objects are missing', async () => {
    const git = newRepository()
    const first = git.commit({ files: { 'a.md': 'one\n', 'd/b.md': 'two\n' } })
    const head = git.commit({ files: { 'a.md': 'one\ntwo\n', 'd/b.md': 'three\n' }, parents: [first] })
    const line = { first_line: 1, num_lines: 1 }
    const anchors: Anchor[] = [
      { commit: '1'.repeat(40), path: 'a.md', ...line },
      { commit: 'not an id', path: 'a.md' },
      { commit: git.say('rev-parse', `${first}:a.md`), path: 'a.md' },
      { commit: first, path: 'none.md', ...line },
      { commit: first, path: 'a.md', first_line: 2, num_lines: 1 },
      { commit: first, path: 'a.md', first_line: 0, num_lines: 1 },
      { commit: first, path: 'a.md', pointer: '/x' },
    ]
    const expected = anchors.map(() => ({ outdated: true }))
    expect(await placeIn(git, head, anchors)).to.deep.equal(expected)
    expect(await placeIn(git, head, anchors), 'from memory').to.deep.equal(expected)
    rmSync(looseFile(git, git.say('rev-parse', `${first}:d/b.md`)))
    rmSync(looseFile(git, git.say('rev-parse', `${first}:a.md`)))
    const again = await placeIn(git, head, [{ commit: first, path: 'd/b.md', ...line }])
    expect(again).to.deep.equal([{ outdated: true }])
  })

  it('keeps comments on files of any kind, and lines only of text', async () => {
    const git = newRepository()
    const big = randomBytes(600_000).toString('hex')
    const first = git.commit({
      files: {
        link: { mode: '120000', content: 'a.md' },
        module: { mode: '160000', oid: '2'.repeat(40) },
        'turns-binary': 'one\ntwo\n',
        'turns-large': 'one\ntwo\n',
        'turns-link': 'one\n',
        'turns-folder': 'Some text that is moved into the folder\n',
        'turns-empty': 'one\n',
        large: `${big}\n`,
        run: 'one\n',
      },
    })
    const head = git.commit({
      files: {
        link: { mode: '120000', content: 'b.md' },
        module: { mode: '160000', oid: '3'.repeat(40) },
        'turns-binary': 'one\ntwo\n\0',
        'turns-large': `one\ntwo\n${big}`,
        'turns-link': { mode: '120000', content: 'one\n' },
        'turns-folder': null,
        'turns-folder/inside': 'Some text that is moved into the folder\n',
        'turns-empty': '',
        run: { mode: '100755', content: 'zero\none\n' },
      },
      parents: [first],
    })
    const line = (path: string): Anchor => ({ commit: first, path, first_line: 1, num_lines: 1 })
    const file = (path: string): Anchor => ({ commit: first, path })
    const here = (path: string, lines = {}) => ({ outdated: false, place: { commit: head, path, ...lines } })
    const cases: [Anchor, object][] = [
      [file('link'), here('link')],
      [file('module'), here('module')],
      [file('turns-binary'), here('turns-binary')],
      [file('turns-link'), here('turns-link')],
      [line('turns-binary'), { outdated: true }],
      [line('turns-large'), { outdated: true }],
      [line('turns-link'), { outdated: true }],
      [line('turns-empty'), { outdated: true }],
      [line('turns-folder'), here('turns-folder/inside', { first_line: 1, num_lines: 1 })],
      [file('turns-folder'), here('turns-folder/inside')],
      [line('large'), here('large', { first_line: 1, num_lines: 1 })],
      [line('run'), here('run', { first_line: 2, num_lines: 1 })],
    ]
    const placed = await placeIn(
      git,
      head,
      cases.map(([anchor]) => anchor),
    )
    for (const [at, [anchor, expected]] of cases.entries())
      expect(placed[at], JSON.stringify(anchor)).to.deep.equal(expected)
  })

  it('fails if the head is missing, instead of calling everything outdated', async () => {
    const git = newRepository()
    const first = git.commit({ files: { 'a.md': 'one\n' } })
    const missing = await placeIn(git, '4'.repeat(40), [{ commit: first, path: 'a.md' }]).catch((error) => error.code)
    expect(missing).to.equal('object_missing')
  })

  it('places 2,000 anchors while other work has its turns', async () => {
    const git = newRepository()
    const first = git.commit({ files: { 'a.md': linesUpTo(2_000), 'b.md': linesUpTo(2_000) } })
    const edited = linesUpTo(2_000).replace(/(Line \d*25)\n/g, '$1, edited\n')
    const head = git.commit({ files: { 'a.md': edited, 'b.md': `Top\n${edited}` }, parents: [first] })
    const anchors = Array.from(
      { length: 2_000 },
      (_, n): Anchor => ({
        commit: first,
        path: n % 2 ? 'a.md' : 'b.md',
        first_line: n + 1,
        num_lines: 1,
        quote: { exact: `Line ${n + 1}` },
      }),
    )
    const placed = await placeIn(git, head, anchors)
    for (const [n, one] of placed.entries())
      expect(one.outdated === false && one.place.first_line, `line ${n + 1}`).to.equal(n + (n % 2 ? 1 : 2))
    // Nothing is read now, so only the placing itself can give turns.
    const unchanged = anchors.filter((_, n) => !String(n + 1).endsWith('25'))
    const { result, turns } = await countTurns(() => placeIn(git, head, unchanged))
    expect(result.every(({ outdated }) => !outdated)).to.equal(true)
    expect(turns).to.be.at.least(9)
  })
})
