/** Anchors of new comments: what is refused, and what a quote completes. */

import { expect } from 'chai'
import { readAnchoredLines } from '../../server/domain/anchors/anchored-lines.ts'
import { completeAnchor } from '../../server/domain/anchors/complete-anchor.ts'
import type { AnchorInput } from '../../server/domain/format/anchors.ts'
import type { Git } from '../support/git.ts'
import { newRepository, problemOf, useFolder } from './scene.ts'

const text = '# Whales\n\nThe blue whale eats krill.\r\nThe grey whale eats\nmore krill.\n'
const node = { title: 'Whales', 'a/b': [{ '~': null }], properties: { status: 'draft' } }

describe('the anchor of a new comment', () => {
  useFolder()
  let git: Git
  let commit: string

  before(() => {
    git = newRepository()
    commit = git.commit({
      files: {
        'content.md': text,
        'node.json': JSON.stringify(node, null, 2),
        'broken.json': '{"a": 1,}',
        'deep.json': `${'['.repeat(101)}${']'.repeat(101)}`,
        'latin.txt': Buffer.from('caf\xe9 one\ntwo\n', 'latin1'),
        'picture.png': Buffer.from('\x89PNG\0'),
        'late-nul': `${'x'.repeat(8_000)}\0\n`,
        'large.md': 'x'.repeat(1_048_577),
        'long.md': 'x\n'.repeat(20_001),
        'longest.md': 'x\n'.repeat(20_000),
        'many.md': 'a\n'.repeat(1_001),
        'empty.md': '',
        'folder/file.md': 'x',
        link: { mode: '120000', content: 'content.md' },
        module: { mode: '160000', oid: '2'.repeat(40) },
      },
    })
  })

  type Parts = Partial<AnchorInput>
  const complete = (parts: Parts) =>
    completeAnchor({ dir: git.dir }, { commit, path: 'content.md', ...parts }, ['body', 'anchor'])
  const read = (parts: Parts) => complete(parts).then((anchor) => readAnchoredLines({ dir: git.dir }, anchor))

  it('is the whole file, of any kind, without lines and pointer', async () => {
    for (const path of ['content.md', 'picture.png', 'large.md', 'empty.md', 'folder/file.md', 'link', 'module']) {
      expect(await complete({ path })).to.deep.equal({ commit, path })
      expect(await read({ path })).to.deep.equal([])
    }
  })

  it('has lines that the file has, and their text can be read again', async () => {
    const anchor = { commit, path: 'content.md', first_line: 3, num_lines: 1 }
    expect(await complete({ first_line: 3 })).to.deep.equal(anchor)
    expect(await complete({ first_line: 3, num_lines: 1 })).to.deep.equal(anchor)
    expect(await read({ first_line: 3, num_lines: 3 })).to.deep.equal([
      'The blue whale eats krill.',
      'The grey whale eats',
      'more krill.',
    ])
    expect(await read({ path: 'latin.txt', first_line: 1, num_lines: 2 })).to.deep.equal(['caf\ufffd one', 'two'])
    expect(await read({ path: 'longest.md', first_line: 19_501, num_lines: 500 })).to.have.length(500)
    expect(await read({ path: 'late-nul', first_line: 1 })).to.deep.equal([`${'x'.repeat(8_000)}\0`])
  })

  it('finds the lines of a quote that is there once', async () => {
    const found = { commit, path: 'content.md' }
    const blue = { exact: 'blue whale' }
    expect(await complete({ quote: blue })).to.deep.equal({ ...found, first_line: 3, num_lines: 1, quote: blue })
    const across = { exact: 'eats more\tkrill' }
    expect(await complete({ quote: across })).to.deep.equal({ ...found, first_line: 4, num_lines: 2, quote: across })
    const told = { exact: 'whale', prefix: 'The grey ', suffix: ' eats' }
    expect(await complete({ quote: told })).to.deep.equal({ ...found, first_line: 4, num_lines: 1, quote: told })
    const eats = { exact: 'eats' }
    expect(await complete({ first_line: 4, quote: eats })).to.include({ first_line: 4, num_lines: 1 })
    expect(await complete({ first_line: 4, quote: across })).to.include({ first_line: 4, num_lines: 2 })
    expect(await complete({ first_line: 3, num_lines: 3, quote: eats })).to.include({ first_line: 3, num_lines: 3 })
  })

  it('keeps a quote as it was sent, without halves of characters around it', async () => {
    const quote = { exact: ' blue  whale ', prefix: '\udc33The', suffix: 'eats\ud83d' }
    expect((await complete({ quote })).quote).to.deep.equal({ exact: quote.exact, prefix: 'The', suffix: 'eats' })
    const empty = { exact: 'blue', prefix: '', suffix: undefined }
    expect((await complete({ quote: empty })).quote).to.deep.equal({ exact: 'blue' })
    const longest = { exact: 'blue', prefix: '\u{1f433}'.repeat(64), suffix: 'x'.repeat(64) }
    expect((await complete({ quote: longest })).quote).to.deep.equal(longest)
  })

  it('points to a value of JSON', async () => {
    const values = { '/title': ['"Whales"'], '/a~1b/0/~0': ['null'], '/properties/status': ['"draft"'] }
    for (const [pointer, lines] of Object.entries(values)) {
      expect(await complete({ path: 'node.json', pointer })).to.deep.equal({ commit, path: 'node.json', pointer })
      expect(await read({ path: 'node.json', pointer })).to.deep.equal(lines)
    }
    expect((await read({ path: 'node.json', pointer: '' }))?.[1]).to.equal('  "title": "Whales",')
  })

  it('is refused at the part that is wrong', async () => {
    const long = 'x'.repeat(65)
    const cases: [Parts, string, RegExp][] = [
      [{ commit: '3'.repeat(40) }, 'commit', /no commit 333/],
      [{ path: 'none.md' }, 'path', /no file none\.md/],
      [{ path: '' }, 'path', /no file/],
      [{ path: 'content.md/x' }, 'path', /no file/],
      [{ path: 'folder' }, 'path', /is a folder/],
      [{ path: 'picture.png', first_line: 1 }, 'path', /is not text, so a comment cannot have lines/],
      [{ path: 'link', first_line: 1 }, 'path', /symbolic link/],
      [{ path: 'module', quote: { exact: 'x' } }, 'path', /submodule/],
      [{ path: 'large.md', first_line: 1 }, 'path', /over 1 MiB or 20,000 lines/],
      [{ path: 'long.md', first_line: 1 }, 'path', /over 1 MiB or 20,000 lines/],
      [{ path: 'empty.md', first_line: 1 }, 'first_line', /has 0 lines/],
      [{ first_line: 6 }, 'first_line', /has 5 lines/],
      [{ first_line: 0 }, 'first_line', /has 5 lines/],
      [{ first_line: 1.5 }, 'first_line', /has 5 lines/],
      [{ first_line: 4, num_lines: 3 }, 'num_lines', /has 5 lines/],
      [{ first_line: 1, num_lines: 0 }, 'num_lines', /1 to 500 lines/],
      [{ path: 'longest.md', first_line: 1, num_lines: 501 }, 'num_lines', /1 to 500 lines/],
      [{ num_lines: 1 }, 'num_lines', /Send first_line/],
      [{ quote: { exact: ' \n' } }, 'quote.exact', /not white space/],
      [{ quote: { exact: 'x'.repeat(1_001) } }, 'quote.exact', /at most 1,000/],
      [{ quote: { exact: 'blue', prefix: long } }, 'quote.prefix', /at most 64/],
      [{ quote: { exact: 'blue', suffix: long } }, 'quote.suffix', /at most 64/],
      [{ quote: { exact: 'green' } }, 'quote', /not in the file/],
      [{ quote: { exact: 'The' } }, 'quote', /in the file 2 times; give first_line/],
      [{ quote: { exact: 'whale', prefix: 'The ' } }, 'quote', /in the file 2 times; give first_line/],
      [{ path: 'many.md', quote: { exact: 'a' } }, 'quote', /in the file over 1000 times/],
      [{ first_line: 3, num_lines: 1, quote: { exact: 'grey' } }, 'quote', /not in these lines/],
      [{ first_line: 3, quote: { exact: 'grey' } }, 'quote', /does not begin on line 3/],
      [{ pointer: '/title' }, 'pointer', /ends with \.json/],
      [{ path: 'node.json', pointer: 'title' }, 'pointer', /JSON pointer/],
      [{ path: 'node.json', pointer: '/~2' }, 'pointer', /JSON pointer/],
      [{ path: 'node.json', pointer: `/${'x'.repeat(1_000)}` }, 'pointer', /JSON pointer/],
      [{ path: 'node.json', pointer: '/none' }, 'pointer', /no value at \/none/],
      [{ path: 'node.json', pointer: '/a~1b/00' }, 'pointer', /no value/],
      [{ path: 'node.json', pointer: '/a~1b/-' }, 'pointer', /no value/],
      [{ path: 'node.json', pointer: '/a~1b/length' }, 'pointer', /no value/],
      [{ path: 'node.json', pointer: '/title/0' }, 'pointer', /no value/],
      [{ path: 'node.json', pointer: '/toString' }, 'pointer', /no value/],
      [{ path: 'broken.json', pointer: '/a' }, 'pointer', /not valid JSON/],
      [{ path: 'deep.json', pointer: '/0' }, 'pointer', /at most 100 levels/],
      [{ path: 'node.json', pointer: '/title', first_line: 1 }, 'pointer', /not both/],
      [{ path: 'node.json', pointer: '/title', quote: { exact: 'x' } }, 'pointer', /not both/],
    ]
    for (const [parts, part, msg] of cases) {
      const problem = await problemOf(complete(parts))
      expect(problem.loc, JSON.stringify(parts)).to.equal(`body.anchor.${part}`)
      expect(problem.msg).to.match(msg)
    }
  })
})

describe('the lines of an anchor', () => {
  useFolder()

  it('are bounded, and missing with their commit, their file or themselves', async () => {
    const git = newRepository()
    const files = { 'a.md': `short\n${'ü'.repeat(10_000)}\nmore\n`, 'a.json': '{"x": 1}' }
    const commit = git.commit({ files })
    const read = (parts: object) => readAnchoredLines({ dir: git.dir }, { commit, path: 'a.md', ...parts })
    const cut = await read({ first_line: 1, num_lines: 3 })
    expect(cut).to.deep.equal(['short', `${'ü'.repeat(8_189)}…`])
    expect(await read({ first_line: 3, num_lines: 2 })).to.equal(undefined)
    expect(await read({ path: 'b.md', first_line: 1 })).to.equal(undefined)
    expect(await read({ commit: '5'.repeat(40), first_line: 1 })).to.equal(undefined)
    expect(await read({ path: 'a.json', pointer: '/y' })).to.equal(undefined)
    expect(await read({ path: 'a.json', pointer: 'x' })).to.equal(undefined)
    expect(await read({ path: 'a.json', pointer: '/x' })).to.deep.equal(['1'])
  })
})
