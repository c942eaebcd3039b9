/** The prose of this repository keeps the rules of `avoid.md`: what is left to mend is counted, and may only fall. */

import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { type Sentence, sentencesIn } from './prose.ts'
import { type Counts, countsFile, countsOf } from './word-counts.ts'
import { readWordRules, type WordRule } from './word-rules.ts'

describe('the words of this repository', () => {
  let rules: WordRule[]
  let sentences: Sentence[]

  before(async () => {
    rules = await readWordRules()
    sentences = await sentencesIn()
  })

  it('keep the rules of avoid.md as far as they did before', async () => {
    const recorded: Counts = JSON.parse(await readFile(countsFile, 'utf8'))
    const counts = countsOf(rules, sentences)
    const more: string[] = []
    const fewer: string[] = []
    for (const { name, say } of rules)
      for (const surface of new Set([...Object.keys(counts[name] ?? {}), ...Object.keys(recorded[name] ?? {})])) {
        const [now, before] = [counts[name]?.[surface as Surface] ?? 0, recorded[name]?.[surface as Surface] ?? 0]
        if (now > before) more.push(`${surface}: "${name}" ${now} times, ${before} allowed; say ${say}`)
        if (now < before) fewer.push(`${surface}: "${name}"`)
      }
    expect(more, 'npm run words -- FILE lists the sentences').to.deep.equal([])
    expect(fewer, 'fewer than before: record it with npm run words -- --write').to.deep.equal([])
  })

  it('break each rule of the table in its example, and no other one does', () => {
    const broken = examples.map((text) => {
      const sentence: Sentence = { file: '', line: 1, surface: 'docstrings', text, isFirst: false }
      return rules.flatMap(({ name, breaks }, at) => (breaks(sentence) && at < examples.length ? [name] : []))
    })
    expect(broken).to.deep.equal(rules.slice(0, examples.length).map(({ name }) => [name]))
    expect(rules.slice(examples.length).map(({ name }) => name)).to.deep.equal([
      'over 40 words',
      'over 25 words',
      'a docstring begins with over 15 words',
      'two semicolons',
    ])
  })

  it('are read from documents, headings, descriptions, messages, comments and docstrings', () => {
    const surfaces = new Set(sentences.map(({ surface }) => surface))
    expect([...surfaces].sort()).to.deep.equal([
      'comments',
      'descriptions',
      'docstrings',
      'documents',
      'headings',
      'messages',
    ])
  })
})

type Surface = Sentence['surface']

/** One sentence for each row of the table, in its order. */
const examples = [
  'The name is no branch.',
  'The answer is none.',
  'The index is made again.',
  'At most six gits run.',
  'The token is told once.',
  'The page has 50 rows unless asked.',
  'Too many exports run just now.',
  'An answer for the public is cached.',
  'It reads the pack in place of the object.',
  'The file is taken for text.',
  'Node works from 20.19 on.',
  'The session goes on.',
  'Each ref is looked at.',
  'The command looks whether all is well.',
  'The file lies in a folder.',
  'A new process starts meanwhile.',
  'The lock ends by itself.',
  'The thread has a heap of its own.',
  'It returns the name of a person.',
  'It stops whatever runs.',
  'The repository is sound.',
  'It refuses a bad token.',
  'It opens regular files alone.',
  'It runs beside the service.',
  'The lock is removed, too.',
  'It waits, for it needs the lock.',
  'The test takes 13 seconds of computing.',
  'The review is for the present head.',
  'The node has no comment of this number.',
  'The form leads to the page of consent.',
  'The commit has the maximum number of checks.',
  'Where it is absent, nothing happens.',
  'What is left out is logged.',
  'Others read the same file.',
  'Of the rows that changed.',
]
