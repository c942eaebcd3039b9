/** Front matter of exported notes: what an import reads of it is what was written. */

import { expect } from 'chai'
import fc from 'fast-check'
import { readMapping } from '../../server/features/vault/read/yaml.ts'
import { frontMatter, isSayable } from '../../server/features/vault/write/exported-note.ts'

/** The values that YAML reads in its own way. */
const tricky = fc.constantFrom(
  ...[
    'no',
    'yes',
    'on',
    'null',
    '~',
    'true',
    '1e3',
    '0x1f',
    '0o17',
    '.inf',
    '.nan',
    '1.10',
    '007',
    '+1',
    '1_000',
    '12:30:45',
  ],
  ...[
    '2024-01-01',
    '2024-01-01T10:00:00Z',
    '12345678901234567890',
    '-0',
    '<<',
    '=',
    '!tag',
    '&a',
    '*a',
    '%TAG',
    '@x',
    '`x',
  ],
  ...[
    '- a',
    '? a',
    ': a',
    'a: b',
    'a #b',
    '#a',
    "it's",
    '"',
    '\\',
    '{a}',
    '[a]',
    'a,b',
    '|',
    '>',
    '---',
    '...',
    '--- a',
    '\n---\n',
  ],
  ...[
    'a\n---\nb',
    'a\r\nb',
    'a\rb',
    '\ta',
    'a\t',
    ' a',
    'a ',
    '\n',
    'a\n',
    'a\n\n',
    '\n a\n  b',
    'a\u2028---\nb',
    '\u0085',
    '\ufeffa',
  ],
  ...[
    '',
    '\u0000b'.slice(1),
    '\u0007',
    '\u007f',
    '👩‍👩‍👧',
    'e\u0301',
    '\u200b',
    'x'.repeat(3_000),
    'long words '.repeat(40),
    '__proto__',
  ],
  ...['{date}', '{ a: b }', '{a: [}', '{"a"}', '{*a}', '{{a}}', '{a}: b', '{a #b}'],
)
const text = fc.oneof(
  tricky,
  fc.string({ unit: anyCharacter }),
  fc.string({ unit: 'grapheme' }),
  fc.tuple(tricky, tricky).map((two) => two.join(' ')),
)
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.constantFrom(-0, 2 ** 53, -(2 ** 60), 1e21, 1e300, 5e-324, 12345678901234567000),
)
const { value } = fc.letrec<{ value: unknown; leaf: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('leaf'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(text, tie('value'), { maxKeys: 4 }),
  ),
  leaf: fc.oneof(
    text,
    number,
    fc.boolean(),
    fc.constant(null),
    tricky.map((key) => ({ [key]: null })),
  ),
}))

/** As JSON has it: -0 is 0. */
const asJson = (one: unknown) => JSON.parse(JSON.stringify(one))

function readBack(written: string): unknown {
  const [start, ...rest] = written.split('---\n')
  expect(start).to.equal('')
  expect(/^(?:---|\.\.\.)[ \t]*(?:\r?\n|(?![\s\S]))/m.exec(written.slice(4))?.index).to.equal(written.length - 8)
  expect(rest.at(-1)).to.equal('')
  return readMapping(written.slice(4, -4)).values
}

import { anyCharacter } from '../support/any-text.ts'
import { runs } from '../support/seed.ts'
import { countTurns } from '../support/turns.ts'

describe('the front matter of an exported note', () => {
  it('is read as the JSON that was written, with names and order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(text, value, { maxKeys: 6 }), async (members) => {
        const entries = Object.entries(asJson(members) as object).filter(([key, member]) => isSayable(key, member))
        const read = readBack(await frontMatter(new Map(entries)))
        expect(JSON.stringify(read)).to.equal(JSON.stringify(Object.fromEntries(entries)))
      }),
      { seed: 20_261_122, numRuns: runs(400) },
    )
  })

  it('has long lists as short ones, with turns of the event loop in between', async () => {
    const numbers = Array.from({ length: 1_000 }, (_, at) => at)
    const parents = numbers.map((at) => (at % 2 === 0 ? { id: `p${at}`, label: '- a' } : `p${at}`))
    const files = Object.fromEntries(numbers.map((at) => [`d/${at}: x.png`, `${at}.png`]))
    const members = { parents, short: ['a'], files, digest: 'x' }
    const { result: written, turns } = await countTurns(() =>
      frontMatter(new Map([['title', 'Hub']]), { key: 'grove', members }),
    )
    expect(JSON.stringify(readBack(written))).to.equal(JSON.stringify({ title: 'Hub', grove: members }))
    expect(turns).to.be.at.least(18)
    expect(await frontMatter(new Map([['title', 'Hub']]), { key: 'grove', members: { digest: 'x' } })).to.equal(
      '---\ntitle: Hub\ngrove:\n  digest: x\n---\n',
    )
  })

  it('is what a user would write', async () => {
    const members = {
      title: 'Blue whale',
      tags: ['sea', 'no'],
      date: '2024-01-01',
      length: 29.9,
      'is big': true,
      none: null,
    }
    expect(await frontMatter(new Map(Object.entries(members)))).to.equal(
      '---\ntitle: Blue whale\ntags:\n  - sea\n  - no\ndate: 2024-01-01\nlength: 29.9\nis big: true\nnone:\n---\n',
    )
  })

  it('leaves to JSON what YAML cannot say', () => {
    expect(isSayable('a', 'nul \0')).to.equal(false)
    expect(isSayable('a', ['half \ud800'])).to.equal(false)
    expect(isSayable('half \udc00', 1)).to.equal(false)
    expect(isSayable('x'.repeat(201), 1)).to.equal(false)
    expect(isSayable('a', JSON.parse('['.repeat(40) + ']'.repeat(40)))).to.equal(false)
  })
})
