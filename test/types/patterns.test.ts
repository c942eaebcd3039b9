/**
 * The matcher of patterns, compared with JavaScript's own.
 *
 * The generators leave nothing out that may differ. Characters that only one of the two versions of Unicode has would,
 * and the texts have none of them.
 */

import { expect } from 'chai'
import fc from 'fast-check'
import { RE2JS } from 're2js'
import { PatternError, translatePattern } from '../../server/domain/types/pattern-translation.ts'
import { compilePattern, type Pattern } from '../../server/domain/types/patterns.ts'

const items = fc.constantFrom(
  ...[
    'a',
    'b',
    '-',
    'a-c',
    'é',
    '\\d',
    '\\w',
    '\\s',
    '\\S',
    '\\W',
    '\\p{L}',
    '\\P{Lu}',
    '\\-',
    '\\]',
    '\\b',
    '\\n',
    '[',
    '.',
  ],
  ...[
    '\\u0061',
    '\\x62',
    '\\u{1F600}',
    '\\uD83D\\uDE00',
    '😀-😂',
    '\\cJ',
    '\\0',
    '^',
    '|',
    '\\p{Script=Greek}',
    '\\p{gc=Nd}',
    '\ud800',
    '[:alpha:',
    '\\ud83d',
  ],
)
const classes = fc
  .tuple(fc.boolean(), fc.array(items, { maxLength: 4 }))
  .map(([not, all]) => `[${not ? '^' : ''}${all.join('')}]`)
const atoms = fc.oneof(
  fc.constantFrom(
    'a',
    'b',
    'ab',
    'é',
    '😀',
    '.',
    '\\d',
    '\\W',
    '\\s',
    '\\S',
    '\\v',
    '\\cJ',
    '\\ud83d',
    '\\u2028',
    '\\p{L}',
    '\\.',
    '\\/',
    '\\n',
    '\\u{62}',
    '\\ud83d\\ude00',
    ' ',
  ),
  classes,
)
const quantifiers = fc.constantFrom(
  '',
  '',
  '',
  '*',
  '+',
  '?',
  '*?',
  '{2}',
  '{0}',
  '{0,2}',
  '{1,}',
  '{1,3}?',
  '{0,0}',
  '{02}',
)
const sources: fc.Arbitrary<string> = fc.letrec<{ choice: string; term: string; group: string }>((tie) => ({
  choice: fc
    .array(
      fc.array(tie('term'), { maxLength: 4 }).map((terms) => terms.join('')),
      { minLength: 1, maxLength: 3 },
    )
    .map((parts) => parts.join('|')),
  group: fc.tuple(fc.constantFrom('(', '(?:', '(?<n>'), tie('choice')).map(([open, inner]) => `${open}${inner})`),
  term: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    fc.tuple(atoms, quantifiers).map((pair) => pair.join('')),
    fc.constantFrom('^', '$', '\\b', '\\B'),
    fc.tuple(tie('group'), quantifiers).map((pair) => pair.join('')),
  ),
})).choice
const texts = fc
  .array(
    fc.constantFrom(
      ...['a', 'b', 'c', 'A', 'é', '1', ' ', '\n', '\r', '\v', '\u00a0', '\ufeff', '-', '[', ':', '😀', 'λ', '.'],
      ...['\u2028', '\ud800', '\ud83d', '\0', 'ab', '_'],
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''))

function native(source: string): RegExp | undefined {
  try {
    return new RegExp(source, 'u')
  } catch {
    return undefined
  }
}

/**
 * True if the expression matches a part of the text. V8 also looks between the two halves of a character, where
 * `\B` matches. The standard does not. Source: ECMA-262, RegExpBuiltinExec, AdvanceStringIndex.
 */
function nativeTest({ source }: RegExp, text: string): boolean {
  const sticky = new RegExp(source, 'uy')
  for (let at = 0; at <= text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) {
    sticky.lastIndex = at
    if (sticky.test(text)) return true
  }
  return false
}

/** Undefined if the pattern has too many states. */
function compileSmall(source: string): Pattern | undefined {
  try {
    return compilePattern(source)
  } catch (error) {
    if (error instanceof PatternError && error.message.startsWith('must be simpler')) return undefined
    throw error
  }
}

describe('patterns', () => {
  it.deep('match the texts that JavaScript matches', () => {
    let compared = 0
    fc.assert(
      fc.property(sources, fc.array(texts, { minLength: 1, maxLength: 6 }), (source, several) => {
        const expected = native(source)
        if (!expected || source.length > 200) return
        const pattern = compileSmall(source)
        if (!pattern) return
        for (const text of several) expect(pattern.test(text), text).to.equal(nativeTest(expected, text))
        compared++
      }),
      { numRuns: 1_000 },
    )
    expect(compared).to.be.above(250)
  })

  it('mean what JavaScript means where RE2 reads them differently', () => {
    const texts = [
      '',
      'a',
      'a{01}',
      'al',
      ':',
      'x',
      '[',
      '\n',
      '\r',
      '\u2028',
      '\u00a0',
      '\v',
      '\b',
      'éa',
      '😀',
      '\ud83d',
    ]
    for (const source of [
      ...['^.$', '^\\s$', '^\\S$', '^[\\s]$', '^[^\\S]$', '^[[:alpha:][x]$', '^[[:alpha:]$', 'a{01}$', '^a{00,1}$'],
      ...[
        '^[]$',
        '^[^]$',
        '[\\b]',
        '\\bé',
        '\\B',
        '^\\ud83d\\ude00$',
        '^\\ud83d$',
        '^\\u{1F600}$',
        '\\cJ',
        '^[(?<\\s>]$',
      ],
      ...[
        '^\\p{Lu}',
        '^\\p{Ll}$',
        '^\\p{sc=Latin}',
        '^\\p{Script=Greek}',
        '^\\P{gc=Ll}$',
        '^[\\p{L}\\p{So}]+$',
        'l$|^$',
      ],
    ]) {
      const pattern = compilePattern(source)
      for (const text of texts)
        expect(pattern.test(text), `${source} ${JSON.stringify(text)}`).to.equal(native(source)?.test(text))
    }
  })

  it('are refused with the part that RE2 lacks', () => {
    const reasonOf = (source: string) => {
      try {
        compilePattern(source)
        return undefined
      } catch (error) {
        return error instanceof PatternError ? error.message : error
      }
    }
    expect(['a(?=b)', '(?<!a)b', '(a)\\1', '(?<n>a)\\k<n>', '^\\p{ID_Start}', 'a{9'].map(reasonOf)).to.deep.equal([
      'must not look ahead or behind: `(?=`, `(?!`, `(?<=` and `(?<!` are not supported',
      'must not look ahead or behind: `(?=`, `(?!`, `(?<=` and `(?<!` are not supported',
      'must not have back references, such as `\\1`',
      'must not have back references, such as `\\1`',
      'must be a regular expression that RE2 supports; it does not support `\\p{ID_Start}`',
      'must be a regular expression of JavaScript: Incomplete quantifier',
    ])
    expect(reasonOf('(?:(?:(?:a{999}){999}){999})*')).to.match(/^must be simpler: .* it has 9\d{8} states/)
    expect(reasonOf('a'.repeat(201))).to.equal('must have at most 200 characters; it has 201')
  })

  it('have at least the states that RE2 has', () => {
    fc.assert(
      fc.property(sources, (source) => {
        if (!native(source)) return
        const { expression, states } = translatePattern(source)
        expect(RE2JS.compile(expression).programSize()).to.be.at.most(states)
      }),
      { numRuns: 500, examples: [['(|(){0}){1,3}?'], ['(|a{0}){2,5}']] },
    )
  })

  it('are refused exactly if JavaScript refuses them, or with a reason', () => {
    const parts = fc.constantFrom(
      ...'ab()[]{}|*+?^$\\.-,:=!<>1kudpPx',
      '\\u{',
      '(?<n>',
      '\\k<n>',
      '(?=',
      '(?i:',
      '{2,1}',
    )
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 12 }), (several) => {
        const source = several.join('')
        try {
          compilePattern(source)
          expect(native(source)).to.be.instanceOf(RegExp)
        } catch (error) {
          expect(error).to.be.instanceOf(PatternError)
          const reason = (error as PatternError).message
          if (native(source)) expect(reason).to.match(/look ahead|back references|modifiers|simpler|RE2/)
        }
      }),
      { numRuns: 1_000 },
    )
  })
})
