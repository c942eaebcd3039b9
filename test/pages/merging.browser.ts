/** Two changed versions of a text in one: nothing that either wrote is lost, and nothing comes that neither wrote. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { merge3 } from '../../server/pages/text/passages.ts'

const seed = 20_261_123
const line = fc.constantFrom('One.', 'Two.', 'Three.', '', '- a', '- b', '# Head')
const text = fc.array(line, { maxLength: 12 }).map((lines) => lines.map((one) => `${one}\n`).join(''))

describe('merging texts', () => {
  it('takes the side that changed', () => {
    fc.assert(
      fc.property(text, text, (start, other) => {
        expect(merge3(start, start, other)).to.equal(other)
        expect(merge3(start, other, start)).to.equal(other)
        expect(merge3(start, other, other)).to.equal(other)
      }),
      { seed },
    )
  })

  it('has what both wrote in places that lie apart', () => {
    const lines = fc.array(line, { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(lines, lines, lines, lines, (before, after, theirs, yours) => {
        const [middle, end] = [['alpha', 'beta', 'gamma'], ['omega']]
        const join = (...parts: string[][]) => parts.flat().join('\n')
        const merged = merge3(
          join(before, middle, after, end),
          join(theirs, middle, after, end),
          join(before, middle, yours, end),
        )
        expect(merged).to.equal(join(theirs, middle, yours, end))
      }),
      { seed },
    )
  })

  it('leaves to a user what git leaves, and says else what git says', () => {
    const folder = mkdtempSync(join(tmpdir(), 'grove-merging-'))
    const numbered = Array.from({ length: 12 }, (_, at) => `Line ${at}.`)
    // Lines that differ from each other: how git aligns equal ones is its own.
    const changed = fc.array(fc.tuple(fc.nat(11), fc.constantFrom('changed', 'removed', 'two')), { maxLength: 3 })
    const withChanges = (changes: [number, string][], who: string) =>
      numbered
        .flatMap((one, at) => {
          const kind = changes.find(([line]) => line === at)?.[1]
          if (kind === 'removed') return []
          return kind === 'two' ? [one, `${who} ${at}`] : [kind === 'changed' ? `${who} ${at}` : one]
        })
        .map((one) => `${one}\n`)
        .join('')
    const start = withChanges([], '')
    try {
      fc.assert(
        fc.property(changed, changed, (one, other) => {
          const [theirs, yours] = [withChanges(one, 'They'), withChanges(other, 'You')]
          const merged = merge3(start, theirs, yours)
          const git = byGit(folder, start, theirs, yours)
          if (git === undefined) expect(merged).to.equal(undefined)
          else if (merged !== undefined) expect(merged).to.equal(git)
        }),
        { seed, numRuns: 60 },
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

/** Undefined where it finds a conflict. */
function byGit(folder: string, start: string, theirs: string, yours: string): string | undefined {
  const paths = Object.entries({ yours, start, theirs }).map(([name, content]) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  })
  try {
    return execFileSync('git', ['merge-file', '-p', ...paths], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch {
    return undefined
  }
}
