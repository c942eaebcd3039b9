/** Patterns of branch names, against a naive matcher and against all short names. */

import { expect } from 'chai'
import fc from 'fast-check'
import { branchNameProblem } from '../../gitstore/names.ts'
import { matchesPattern, patternProblem } from '../../server/domain/format/branch-patterns.ts'

/** Tries all ways to divide the name among the stars. */
function matches(pattern: string, name: string): boolean {
  if (pattern === '') return name === ''
  const [star = ''] = /^\*+/.exec(pattern) ?? []
  if (star === '')
    return name !== '' && pattern.charAt(0) === name.charAt(0) && matches(pattern.slice(1), name.slice(1))
  for (let taken = 0; taken <= name.length; taken++) {
    if (star === '*' && name.slice(0, taken).includes('/')) return false
    if (matches(pattern.slice(star.length), name.slice(taken))) return true
  }
  return false
}

function* allTexts(characters: readonly string[], length: number): Iterable<string> {
  yield ''
  if (length > 0) for (const rest of allTexts(characters, length - 1)) for (const one of characters) yield one + rest
}

describe('patterns of branch names', () => {
  it('match what a naive matcher matches, for all short patterns and names', () => {
    const names = [...new Set(allTexts(['a', '/'], 4))]
    let matched = 0
    for (const pattern of new Set(allTexts(['a', '/', '*', '**'], 4)))
      for (const name of names) {
        const isMatch = matchesPattern(pattern, name)
        if (isMatch !== matches(pattern, name)) expect.fail(`${pattern} and ${name}: ${isMatch}`)
        matched += Number(isMatch)
      }
    expect(matched).to.be.greaterThan(1000)
  })

  it('match what a naive matcher matches, for longer ones', () => {
    const part = fc.constantFrom('a', 'b', '/', '.', 'é', '\u{1f333}', 'main', 'release/')
    const pattern = fc.array(fc.oneof(part, fc.constantFrom('*', '**')), { maxLength: 8 }).map((all) => all.join(''))
    const name = fc.array(part, { maxLength: 8 }).map((all) => all.join(''))
    fc.assert(
      fc.property(pattern, name, (one, other) => {
        expect(matchesPattern(one, other)).to.equal(matches(one, other))
      }),
      { numRuns: 3000 },
    )
  })

  it('are read as a regular expression is not: with every other character as it is', () => {
    expect(matchesPattern('release-1.0', 'release-1x0')).to.equal(false)
    expect(matchesPattern('feature/(a|b)+', 'feature/a')).to.equal(false)
    expect(matchesPattern('Main', 'main')).to.equal(false)
  })

  it('take little time where each star could end anywhere', () => {
    const hostile = `${'**a'.repeat(66)}b`
    expect(matchesPattern(hostile, 'a'.repeat(200))).to.equal(false)
    expect(matchesPattern(`${'*a'.repeat(99)}b`, 'a'.repeat(200))).to.equal(false)
    expect(matchesPattern('*a'.repeat(99), 'a'.repeat(200))).to.equal(true)
  })

  it('have a problem exactly if no valid branch name matches', () => {
    const parts = ['a', '/', '.', '-', '@', '{', '.lock', 'HEAD', ' ', '*', '**']
    const fillings = ['', 'x', '/', 'x/x', '.', '{']
    /** True if some filling of the stars is a valid name. */
    const canMatch = (pattern: string): boolean => {
      const [star] = /\*+/.exec(pattern) ?? []
      if (star === undefined) return branchNameProblem(pattern) === undefined
      return fillings.some((one) => (star !== '*' || !one.includes('/')) && canMatch(pattern.replace(star, () => one)))
    }
    let valid = 0
    for (const pattern of new Set(allTexts(parts, 4))) {
      const isValid = patternProblem(pattern) === undefined
      if (isValid !== canMatch(pattern)) expect.fail(`${pattern}: ${patternProblem(pattern)}`)
      valid += Number(isValid)
    }
    expect(valid).to.be.greaterThan(1000)
  })

  it('have at most the bytes of a branch name', () => {
    expect(patternProblem('é'.repeat(100))).to.equal(undefined)
    expect(patternProblem(`${'é'.repeat(100)}*`)).to.equal('A pattern cannot be longer than 200 bytes')
    expect(patternProblem('a..b')).to.equal("No branch can match this: a branch name cannot contain '..'")
  })
})
