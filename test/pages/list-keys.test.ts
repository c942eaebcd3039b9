/** The keys of the editor in lists, and its marks, on the state of the text alone: no browser. */

import { history, undo } from '@codemirror/commands'
import { EditorSelection, EditorState, type StateCommand } from '@codemirror/state'
import { expect } from 'chai'
import fc from 'fast-check'
import { insertBlock, toggleLines } from '../../server/pages/client/block-commands.ts'
import { continueMarks, deleteMarks, indentItems, outdentItems } from '../../server/pages/client/list-commands.ts'
import {
  kindsAt,
  pastedLink,
  toggleBold,
  toggleCode,
  toggleItalic,
  toggleLink,
} from '../../server/pages/client/mark-commands.ts'
import { markdownLook } from '../../server/pages/client/markdown-look.ts'
import { runs } from '../support/seed.ts'

/** A text with `|` at the cursor, or two of them around the selection. */
function stateOf(marked: string): EditorState {
  const [before = '', selected, after] = marked.split('|')
  const doc = before + (after === undefined ? '' : selected) + (after ?? selected ?? '')
  const head = after === undefined ? before.length : before.length + (selected?.length ?? 0)
  return stateAt(doc, before.length, head)
}

function stateAt(doc: string, anchor: number, head = anchor): EditorState {
  const selection = EditorSelection.single(anchor, head)
  return EditorState.create({ doc, selection, extensions: [markdownLook(), history()] })
}

function shown({ doc, selection: { main } }: EditorState): string {
  const text = doc.toString()
  if (main.empty) return `${text.slice(0, main.head)}|${text.slice(main.head)}`
  return `${text.slice(0, main.from)}|${text.slice(main.from, main.to)}|${text.slice(main.to)}`
}

/** The state after a command; undefined if the key keeps its usual meaning. */
function applied(state: EditorState, command: StateCommand): EditorState | undefined {
  let next = state
  const dispatch = (transaction: { state: EditorState }) => {
    next = transaction.state
  }
  return command({ state, dispatch }) ? next : undefined
}

function run(marked: string, command: StateCommand): string | undefined {
  const state = applied(stateOf(marked), command)
  return state && shown(state)
}

const table = (command: StateCommand, cases: readonly (readonly [from: string, to: string | undefined])[]) => {
  for (const [from, to] of cases)
    it(JSON.stringify(from), () => {
      expect(run(from, command)).to.equal(to)
    })
}

describe('Enter in the editor', () => {
  table(continueMarks, [
    ['- one|', '- one\n- |'],
    ['* one| two', '* one\n* |two'],
    ['9. nine|', '9. nine\n10. |'],
    ['3) three|', '3) three\n4) |'],
    ['- [x] done|', '- [x] done\n- [ ] |'],
    ['> said|', '> said\n> |'],
    ['>said|', '>said\n> |'],
    ['> - one|', '> - one\n> - |'],
    ['- a\n  - b|', '- a\n  - b\n  - |'],
    ['> [!tip] Title|', '> [!tip] Title\n> |'],
    ['- a\n- |', '- a\n\n|'],
    ['- |', '|'],
    ['> a\n> |', '> a\n\n|'],
    ['> - a\n> - |', '> - a\n>\n> |'],
    ['- a\n  - |', '- a\n- |'],
    ['3. a\n   - |', '3. a\n4. |'],
    ['- [ ] a\n  - [ ] |', '- [ ] a\n- [ ] |'],
    ['- |one|', '- \n- |'],
    ['plain|', undefined],
    ['|- one', undefined],
    ['-| one', undefined],
    ['- - -|', undefined],
    ['***|', undefined],
    ['```\n- code|\n```', undefined],
    ['    - code|', undefined],
    ['-no list|', undefined],
    ['2019 was|', undefined],
  ])
})

describe('Backspace in the editor', () => {
  table(deleteMarks, [
    ['- |one', '|one'],
    ['- [ ] |one', '|one'],
    ['1. |one', '|one'],
    ['  - |one', '  |one'],
    ['> - |one', '> |one'],
    ['> > |one', '> |one'],
    ['> |one', '|one'],
    ['- o|ne', undefined],
    ['|one', undefined],
    ['```\n- |code\n```', undefined],
  ])
})

describe('Tab in the editor', () => {
  table(indentItems, [
    ['- a\n- b|', '- a\n  - b|'],
    ['1. a\n2. b|', '1. a\n   1. b|'],
    ['1. a\n   1. b\n2. c|', '1. a\n   1. b\n   2. c|'],
    ['- a\n- b|\n  - c\n- d', '- a\n  - b|\n    - c\n- d'],
    ['- |a\n- b|', '- |a\n- b|'],
    ['- a\n- |b\n- c|\n- d', '- a\n  - |b\n  - c|\n- d'],
    ['> - a\n> - b|', '> - a\n>   - b|'],
    ['- a\n  - b|', '- a\n  - b|'],
    ['plain|', undefined],
    ['```\n- code|\n```', undefined],
  ])
})

describe('Shift+Tab in the editor', () => {
  table(outdentItems, [
    ['- a\n  - b|', '- a\n- b|'],
    ['1. a\n   1. b|', '1. a\n2. b|'],
    ['- a\n  - b|\n    - c', '- a\n- b|\n  - c'],
    ['- a|', '- a|'],
    ['- a\n\t- b|', '- a\n- b|'],
    ['plain|', undefined],
  ])
})

describe('marks in the editor', () => {
  table(toggleBold, [
    ['a |word| b', 'a **|word|** b'],
    ['a **|word|** b', 'a |word| b'],
    ['a |**word**| b', 'a |word| b'],
    ['a wo|rd b', 'a **wo|rd** b'],
    ['a **wo|rd** b', 'a wo|rd b'],
    ['|', '**|**'],
    ['**|**', '|'],
    ['| word |', ' **|word|** '],
    ['- |one\n- two|', '- **|one**\n- **two|**'],
  ])
  table(toggleItalic, [
    ['a |word| b', 'a *|word|* b'],
    ['**|word|**', '***|word|***'],
    ['a _|word|_ b', 'a |word| b'],
    ['**|**', '***|***'],
    ['*|*', '|'],
  ])
  table(toggleCode, [
    ['a |word| b', 'a `|word|` b'],
    ['a `|word|` b', 'a |word| b'],
    ['|a`b|', '`` |a`b| ``'],
  ])
  table(toggleLink, [
    ['a |word| b', 'a [word](|) b'],
    ['|https://example.org|', '[|](https://example.org)'],
    ['|', '[|]()'],
    ['a [wo|rd](https://example.org) b', 'a wo|rd b'],
    ['|javascript:alert(1)|', '[javascript:alert(1)](|)'],
  ])

  it('are known at the cursor', () => {
    expect([...kindsAt(stateOf('**a *b|c* d**'))].sort()).to.deep.equal(['bold', 'italic'])
    expect([...kindsAt(stateOf('[wo|rd](x) `c`'))]).to.deep.equal(['link'])
    expect([...kindsAt(stateOf('`co|de`'))]).to.deep.equal(['code'])
    expect([...kindsAt(stateOf('plain|'))]).to.deep.equal([])
  })

  it('make a link only of a URL of the web or of mail', () => {
    expect(pastedLink('word', ' https://example.org/a?b=c ')).to.equal('[word](https://example.org/a?b=c)')
    for (const [words, pasted] of [
      ['word', 'javascript:alert(1)'],
      ['word', 'https://example.org/a b'],
      ['word', 'https://example.org/)](javascript:alert(1))'],
      ['word', 'https://example.org"onclick="x'],
      ['wo]rd', 'https://example.org'],
      ['two\nlines', 'https://example.org'],
      ['https://example.com', 'https://example.org'],
      ['', 'https://example.org'],
    ] as const)
      expect(pastedLink(words, pasted), pasted).to.equal(undefined)
  })
})

describe('lines and blocks of the editor', () => {
  table(toggleLines('heading'), [
    ['wo|rd', '## wo|rd'],
    ['# wo|rd', 'wo|rd'],
    ['- wo|rd', '## wo|rd'],
  ])
  table(toggleLines('list'), [
    ['|one\ntwo|', '- |one\n- two|'],
    ['- |one\n- two|', '|one\ntwo|'],
    ['- [ ] on|e', '- on|e'],
    ['## on|e', '- on|e'],
    ['|', '- |'],
  ])
  table(toggleLines('numbers'), [['|one\n\n- two\nthree|', '1. |one\n\n2. two\n3. three|']])
  table(toggleLines('tasks'), [
    ['- on|e', '- [ ] on|e'],
    ['- [x] on|e', 'on|e'],
  ])
  table(toggleLines('quote'), [
    ['on|e', '> on|e'],
    ['> on|e', 'on|e'],
  ])
  table(insertBlock('table'), [
    ['|', '| |Column| | Column |\n| --- | --- |\n|  |  |'],
    ['a|\nb', 'a\n\n| |Column| | Column |\n| --- | --- |\n|  |  |\n\nb'],
  ])
  table(insertBlock('code'), [
    ['|a\nb|', '```\n|a\nb|\n```'],
    ['|a\n```\nb|', '````\n|a\n```\nb|\n````'],
  ])
  table(insertBlock('callout'), [['a\n|', 'a\n\n> [!note] |Title|\n> ']])
})

const lineArb = fc
  .tuple(
    fc.constantFrom('', '', '> ', '>> ', '> > '),
    fc.constantFrom('', '', '  ', '   ', '    ', '\t'),
    fc.constantFrom('', '- ', '* ', '1. ', '12) ', '- [ ] ', '- [x] ', '-', '## ', '```', '---', '1.', '>'),
    fc.constantFrom('', 'word', 'two words', '**bold**', '`code`', 'a_b', ' '),
  )
  .map((parts) => parts.join(''))
const textArb = fc.array(lineArb, { minLength: 1, maxLength: 8 }).map((lines) => lines.join('\n'))
const placeArb = fc.tuple(textArb, fc.nat(), fc.nat()).map(([doc, one, other]) => {
  const [a, b] = [one % (doc.length + 1), other % (doc.length + 1)]
  return { doc, from: Math.min(a, b), to: Math.max(a, b) }
})

describe('keys of the editor on any text', () => {
  for (const [name, command] of Object.entries({ continueMarks, deleteMarks }))
    it(`${name} changes only the line of the cursor, and undo takes it back`, () => {
      fc.assert(
        fc.property(placeArb, ({ doc, from }) => {
          const state = stateAt(doc, from)
          const next = applied(state, command)
          if (!next) return
          const line = state.doc.lineAt(from)
          const text = next.doc.toString()
          expect(text.startsWith(doc.slice(0, line.from))).to.equal(true)
          expect(text.endsWith(doc.slice(line.to))).to.equal(true)
          // No letter is lost, except the x of a task.
          const letters = (one: string) => one.replace(/[^a-wyz]/g, '')
          expect(letters(text)).to.equal(letters(doc))
          expect(applied(next, undo)?.doc.toString()).to.equal(doc)
        }),
        { numRuns: runs(2_000) },
      )
    })

  for (const [name, command] of Object.entries({ indentItems, outdentItems }))
    it(`${name} changes only white space and numbers at the beginnings of lines`, () => {
      fc.assert(
        fc.property(placeArb, ({ doc, from, to }) => {
          const next = applied(stateAt(doc, from, to), command)
          const bare = (text: string) => text.split('\n').map((line) => line.replace(/[\s\d>]/g, ''))
          if (next) expect(bare(next.doc.toString())).to.deep.equal(bare(doc))
          if (next) expect(applied(next, undo)?.doc.toString() ?? doc).to.equal(doc)
        }),
        { numRuns: 2_000 },
      )
    })

  for (const [name, command] of Object.entries({ toggleBold, toggleItalic, toggleCode }))
    it(`${name} changes only marks of the selected lines`, () => {
      fc.assert(
        fc.property(placeArb, ({ doc, from, to }) => {
          const state = stateAt(doc, from, to)
          const next = applied(state, command)
          const bare = (text: string) => text.replace(/[*_` ]/g, '')
          expect(bare(next?.doc.toString() ?? '')).to.equal(bare(doc))
        }),
        { numRuns: runs(2_000), examples: [[{ doc: '>**bold**', from: 8, to: 8 }]] },
      )
    })

  it('mark and unmark words without a trace', () => {
    const wordsArb = fc.array(fc.constantFrom('one', 'zwei', 'três', '四'), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(wordsArb, fc.nat(), fc.constantFrom(toggleBold, toggleItalic, toggleCode), (words, one, command) => {
        const doc = words.join(' ')
        const at = one % words.length
        const from = words.slice(0, at).join(' ').length + (at > 0 ? 1 : 0)
        const state = stateAt(doc, from, from + (words[at]?.length ?? 0))
        const set = applied(state, command)
        expect(set?.doc.length).to.be.greaterThan(doc.length)
        expect(set && applied(set, command)?.doc.toString()).to.equal(doc)
      }),
    )
  })

  it('lists and headings that are set twice are as before', () => {
    const plainArb = fc.array(fc.constantFrom('one', 'two words', 'three'), { minLength: 1, maxLength: 6 })
    const kindArb = fc.constantFrom('heading', 'list', 'numbers', 'tasks', 'quote' as const)
    fc.assert(
      fc.property(plainArb, kindArb, (lines, kind) => {
        const doc = lines.join('\n')
        const set = applied(stateAt(doc, 0, doc.length), toggleLines(kind as 'list'))
        expect(set?.doc.lines).to.equal(lines.length)
        expect(set?.doc.toString()).to.not.equal(doc)
        expect(set && applied(set, toggleLines(kind as 'list'))?.doc.toString()).to.equal(doc)
      }),
    )
  })
})
