/** Anchors over random histories of a text, compared with `git blame --reverse`, and lines as Git counts them. */

import { expect } from 'chai'
import fc from 'fast-check'
import type { Anchor } from '../../server/domain/format/anchors.ts'
import { linesOf } from '../../server/domain/format/line-map.ts'
import { newRepository, placeIn, useFolder } from './scene.ts'

interface Step {
  readonly kind: 'edit' | 'insert' | 'delete' | 'move' | 'split'
  readonly at: number
  readonly to: number
}

const stepArbitrary: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('edit', 'edit', 'edit', 'insert', 'delete', 'move', 'split'),
  at: fc.nat(1_000),
  to: fc.nat(1_000),
})

let texts = 0

/** A paragraph of one line. Each has a name that stays when it is edited, and other words. */
function paragraph(name: string): string {
  return `Some words ${texts++} about ${name} in a paragraph that is long enough`
}

function apply(text: readonly string[], { kind, at, to }: Step): string[] {
  const from = at % text.length
  const line = text[from] ?? ''
  const name = /about (\S+) in/.exec(line)?.[1] ?? ''
  if (kind === 'edit') return text.with(from, paragraph(name))
  if (kind === 'insert') return text.toSpliced(from, 0, paragraph(`new-${texts}-`))
  if (kind === 'split') return text.toSpliced(from, 1, `An introduction ${texts++}.`, paragraph(name))
  const rest = text.toSpliced(from, 1)
  if (kind === 'delete') return rest.length > 0 ? rest : [...text]
  return rest.toSpliced(to % (rest.length + 1), 0, line)
}

const fileOf = (paragraphs: readonly string[]) => `${paragraphs.join('\n\n')}\n`

describe('anchors over a history', () => {
  useFolder()

  it.deep(
    'are where git blame --reverse has their lines, and follow paragraphs that were moved or edited',
    async () => {
      const histories = fc.sample(fc.array(stepArbitrary, { minLength: 20, maxLength: 40 }), { numRuns: 12, seed: 9 })
      const seen = { kept: 0, moved: 0, edited: 0, outdated: 0 }
      for (const steps of histories) {
        const git = newRepository()
        let text = Array.from({ length: 30 }, (_, n) => paragraph(`name-${n}-`))
        const commits = [git.commit({ files: { 'a.md': fileOf(text) } })]
        const versions = [text]
        for (const step of steps) {
          text = apply(text, step)
          versions.push(text)
          commits.push(git.commit({ files: { 'a.md': fileOf(text) }, parents: commits.slice(-1) }))
        }
        const head = commits.at(-1) ?? ''
        const now = fileOf(text).split('\n')
        for (const from of [0, 10]) {
          const commit = commits[from] ?? ''
          const survivors = survivorsOf(
            git.lines('blame', '--reverse', '-s', '-n', `${commit}..${head}`, '--', 'a.md'),
            head,
          )
          const paragraphs = versions[from] ?? []
          const bare = paragraphs.map((_, n): Anchor => ({ commit, path: 'a.md', first_line: 2 * n + 1, num_lines: 1 }))
          const quoted = bare.map((anchor, n) => ({ ...anchor, quote: { exact: nameIn(paragraphs[n]) } }))
          const placed = await placeIn(git, head, [...bare, ...quoted])
          for (const [n, line] of paragraphs.entries()) {
            const [place, byQuote] = [placed[n], placed[n + paragraphs.length]].map((one) =>
              one?.outdated === false ? one.place.first_line : undefined,
            )
            const there = now.indexOf(line) + 1 || undefined
            const survivor = survivors.get(2 * n + 1)
            // A short line may be lost to blank lines around it, of which more are equal.
            const isLong = line.length >= 40
            expect(place, line).to.be.oneOf(isLong ? [there] : [there, undefined])
            if (survivor !== undefined) expect(there, line).to.equal(survivor)
            if (there !== undefined) expect(byQuote, line).to.be.oneOf(isLong ? [there] : [there, undefined])
            else if (byQuote !== undefined) expect(now[byQuote - 1]).to.include(nameIn(line))
            if (survivor !== undefined) seen.kept++
            else if (there !== undefined) seen.moved++
            else if (byQuote !== undefined) seen.edited++
            else if (now.some((one) => one.includes(nameIn(line)))) seen.outdated++
          }
        }
      }
      for (const [kind, count] of Object.entries(seen)) expect(count, kind).to.be.above(5)
      expect(seen.edited, 'most edited paragraphs are found').to.be.above(4 * seen.outdated)
    },
  )
})

function nameIn(line = ''): string {
  return /about (\S+) in/.exec(line)?.[1] ?? line
}

/** The lines that are still in `head`, with their numbers there. */
function survivorsOf(blamed: readonly string[], head: string): Map<number, number> {
  const survivors = new Map<number, number>()
  for (const line of blamed) {
    const [, oid = '', now, then] = /^\^?([0-9a-f]+) +(\d+) +(\d+)\) /.exec(line) ?? []
    if (oid && head.startsWith(oid)) survivors.set(Number(then), Number(now))
  }
  return survivors
}

describe('lines', () => {
  useFolder()

  it('are those that Git counts', () => {
    const git = newRepository()
    const part = fc.constantFrom('a', 'é', '\n', '\n', '\r', '\r\n', '\f', '\v', '\u0085', '\u2028', ' ')
    const contents = fc
      .sample(fc.array(part, { maxLength: 12 }), { numRuns: 300, seed: 10 })
      .map((parts) => parts.join(''))
    const files = Object.fromEntries(contents.map((content, n) => [String(n), content]))
    const commit = git.commit({ files })
    const counts = new Map(
      git.lines('diff-tree', '-r', '--root', '--no-commit-id', '--numstat', commit).map((line) => {
        const [added, , path = ''] = line.split('\t')
        return [path, Number(added)]
      }),
    )
    for (const [n, content] of contents.entries())
      expect(linesOf(content).length, JSON.stringify(content)).to.equal(counts.get(String(n)))
  })
})
