/** The frozen questions about handbooks, and the check that they share no word with their pages. */
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { handbookPages, pageOf, sharedTerms } from './handbook-pages.ts'
import { drawnHeadings, type Frozen, faultsOf } from './handbook-questions.ts'

const file = readFileSync(new URL('paraphrases.json', import.meta.url))
const frozen: Frozen = JSON.parse(file.toString())

const source = `---
title: Lost <em>bicycles</em>
---
# <%= current_page.data.title %>

{% include "step.html" %}

## Call the porter

The porter [unlocks](https://example.org/garage) our sheds until midnight.
`

describe('questions about handbooks', () => {
  it('are those whose hash search.md has', () => {
    const text = readFileSync(new URL('search.md', import.meta.url), 'utf8')
    expect(text).to.include(createHash('sha256').update(file).digest('hex'))
  })

  it('are 60 of their own pages, and 150 headings', () => {
    const { questions, headings, pages } = frozen
    expect(new Set(questions.map(({ question }) => question)).size).to.equal(60)
    expect(new Set(questions.map(({ pages: [target] }) => target)).size).to.equal(60)
    expect(new Set(headings.map(({ question }) => question)).size).to.equal(150)
    for (const asked of [...questions, ...headings])
      for (const path of asked.pages) expect(pages).to.have.property(path)
  })

  it('are compared by stems with the title and the prose of a page', () => {
    const page = pageOf('made/lost.md', source)
    expect(page.title).to.equal('Lost bicycles')
    expect(page.text).to.not.match(/include|current_page/)
    expect(sharedTerms('Who opens a garage for my bike?', page)).to.deep.equal([])
    expect(sharedTerms('Who is unlocking the shed for a losing bicycle?', page)).to.deep.equal([
      'unlock',
      'shed',
      'bicycl',
    ])
  })

  it('are refused if a page changes, appears, vanishes, or has a word of a question', () => {
    const folder = mkdtempSync(join(tmpdir(), 'handbook-'))
    try {
      mkdirSync(join(folder, 'pages'))
      const write = (name: string, text: string) => writeFileSync(join(folder, 'pages', name), text)
      const read = () => handbookPages('made', folder, 'pages')
      const long = `${source}${'Ask at the gate. '.repeat(60)}`
      write('lost.md', long)
      write('short.md', source)
      const pages = read()
      expect(pages.map(({ path }) => path)).to.deep.equal(['made/pages/lost.md'])
      const made: Frozen = {
        source: [],
        pages: Object.fromEntries(pages.map(({ path, hash }) => [path, hash])),
        questions: [{ question: 'Who opens a garage for my bike?', pages: ['made/pages/lost.md'] }],
        headings: drawnHeadings(pages),
      }
      expect(made.headings).to.deep.equal([{ question: 'Call the porter', pages: ['made/pages/lost.md'] }])
      expect(faultsOf(made, pages)).to.deep.equal([])

      write('lost.md', `${long}The garage is green.\n`)
      expect(faultsOf(made, read())).to.deep.equal([
        'made/pages/lost.md: the page is absent or has changed',
        '“Who opens a garage for my bike?”: made/pages/lost.md has garag',
      ])
      write('lost.md', long)
      write('short.md', long)
      expect(faultsOf(made, read())).to.deep.equal([
        'made/pages/short.md: the page was not frozen',
        'headings: other headings are drawn from these pages',
      ])
      expect(faultsOf({ ...made, headings: [] }, [])).to.deep.equal([
        'made/pages/lost.md: the page is absent or has changed',
        '“Who opens a garage for my bike?”: no page made/pages/lost.md',
      ])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
