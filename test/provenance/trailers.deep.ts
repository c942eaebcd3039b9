/** The trailer `Grove-Via` in messages of every shape. `git interpret-trailers` is the oracle. */

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { viaOfMessage, withVia } from '../../server/domain/format/trailers.ts'
import { newDataDir } from '../support/data-folder.ts'
import { environment } from '../support/git.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'

const scissors = `# ${'-'.repeat(24)} >8 ${'-'.repeat(24)}`

/** Lines that git treats in a special way, and ordinary ones. */
const lines = [
  'Say what whales breathe',
  'fix: a subject with a colon',
  '',
  '   ',
  '\t',
  '---',
  '--- a line of a patch',
  '# a comment',
  '#',
  'Signed-off-by: Bob <bob@example.org>',
  'Co-authored-by: Zoë <zoe@example.org>',
  'Reviewed-by : Eve',
  '(cherry picked from commit 0123456789012345678901234567890123456789)',
  'Fixes #12',
  ' continued',
  '\tcontinued too',
  'Conflicts:',
  'key:value',
  ': no key',
  'not a key: value',
  '\tsea.md',
  'Grove-Viable: yes',
  'See Grove-Via: in the middle',
  '> Quoted words',
  'https://example.org/a:b',
  scissors,
  `${scissors} `,
  'Signed-off-by: ',
  '🐋 Wale',
]

/** Messages as a commit has them, of these lines and of others. Each array is one call of git. */
const messagesOf = (...others: string[]) => {
  const message = fc
    .tuple(
      fc.array(fc.constantFrom(...lines, ...others), { minLength: 1, maxLength: 9 }),
      fc.constantFrom('', '\n', '\n\n', '\n \n'),
    )
    .map(([parts, last]) => `${parts.join('\n')}${last}`.replace(/^\n+|\n+$/g, ''))
  return fc.array(message, { minLength: 1, maxLength: 100, size: 'max' })
}

/** The trailers of each message, as git reads them. */
function trailersOf(folder: string, messages: readonly string[]): string[][] {
  const names = messages.map((message, at) => {
    writeFileSync(join(folder, `${at}`), `${message}\n`)
    return [`${at}`, 'end']
  })
  writeFileSync(join(folder, 'end'), 'x\n\nEnd-Of-Message: x\n')
  const args = ['-C', folder, 'interpret-trailers', '--parse', '--no-divider', ...names.flat()]
  const found = execFileSync('git', args, { env: environment(folder), encoding: 'utf8' })
  return found
    .split('End-Of-Message: x\n')
    .slice(0, -1)
    .map((text) => text.split('\n').filter(Boolean))
}

/** The words of a message. */
const wordsOf = (message: string) => message.split(/\s+/).filter(Boolean)

describe('the trailer of an agent, in any message', () => {
  const value = 'rest agent:scribe/1.0'
  let folder: string

  before(async () => {
    folder = await newDataDir()
  })

  it('is found by git, after all trailers that it found before, and changes nothing else', () => {
    const property = fc.property(messagesOf(), (messages) => {
      const signed = messages.map((message) => withVia(message, value))
      const [before, after] = [trailersOf(folder, messages), trailersOf(folder, signed)]
      for (const [at, message] of messages.entries()) {
        const text = signed[at] ?? ''
        expect(after[at], JSON.stringify(message)).to.deep.equal([...(before[at] ?? []), `Grove-Via: ${value}`])
        expect(viaOfMessage(text)?.client_name).to.equal('scribe/1.0')
        expect(withVia(text, 'rest agent:another')).to.equal(text)
        const kept = wordsOf(text.replace(`Grove-Via: ${value}`, '').replace(/^No message\n/, ''))
        expect(kept).to.deep.equal(wordsOf(message))
      }
    })
    const rare = [
      '\t\nCo-authored-by: Zoë <zoe@example.org>\n\nConflicts:',
      'Conflicts:\n#\n\tsea.md',
      'Conflicts:\nSubject\n \nkey:value\n\n\tsea.md',
    ]
    fc.assert(property, { numRuns: 30, examples: [[rare]] })
  })

  it('is read where git reads it', () => {
    const own = ['Grove-Via: rest agent:a', 'grove-via : rest agent:b', 'Grove-Via: by hand']
    const property = fc.property(messagesOf(...own, ...own), (messages) => {
      const found = trailersOf(folder, messages)
      for (const [at, message] of messages.entries()) {
        const last = found[at]?.findLast((line) => /^grove-via *:/i.test(line))
        const expected = /: rest agent:(\w)/.exec(last ?? '')?.[1]
        expect(viaOfMessage(message)?.client_name.slice(0, 1), JSON.stringify(message)).to.equal(expected)
      }
    })
    fc.assert(property, { numRuns: 10 })
  })
})

describe('the trailer of an agent', () => {
  let grove: Grove
  let ann: PersonClient
  let node: TestNode
  let made = 0

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    node = await newNode(grove, ann)
  })
  after(() => grove.close())

  const committed = async (message: string, headers = {}) => {
    const changes = [{ action: 'put', path: 'a.txt', content: `${++made}` }]
    const path = `${node.at}/tree/main/commits`
    const { id } = (await ann.post(path, { message, changes }, headers).then(expecting(201))).body
    return (await ann.get(`${node.at}/tree/main/commits/${id}`).then(expecting(200))).body
  }
  const stored = (id: string) => {
    const content = node.git.run(['cat-file', 'commit', id]).toString()
    return content.slice(content.indexOf('\n\n') + 2)
  }

  it('is only in the messages of agents, whose answers have it as `via`', async () => {
    const message = '\nSubject\r\n\r\nKey: one\r\n'
    const own = await committed(message)
    expect(stored(own.id)).to.equal('Subject\n\nKey: one\n')
    expect(own).to.not.have.property('via')
    const { id, via } = await committed(message, { 'grove-agent': 'scribe/1.0' })
    expect(stored(id)).to.equal('Subject\n\nKey: one\nGrove-Via: rest agent:scribe/1.0\n')
    expect(via).to.deep.equal({
      ...{ door: 'rest', client: 'agent:scribe/1.0', client_name: 'scribe/1.0', recorded: 'message' },
    })
  })

  it('stands in a paragraph of its own after a subject, and joins trailers', async () => {
    const shapes: [string, string][] = [
      ['Subject', 'Subject\n\nGrove-Via: rest agent:a\n'],
      ['fix: subject', 'fix: subject\n\nGrove-Via: rest agent:a\n'],
      ['Subject\n\nBody: one\nand text', 'Subject\n\nBody: one\nand text\n\nGrove-Via: rest agent:a\n'],
      ['Subject\n\nKey: one\n', 'Subject\n\nKey: one\nGrove-Via: rest agent:a\n'],
      ['Subject\n\n---\nA patch', 'Subject\n\n---\nA patch\n\nGrove-Via: rest agent:a\n'],
      ['Subject\n\nA: b\n\n# c', 'Subject\n\nA: b\nGrove-Via: rest agent:a\n\n# c\n'],
      ['Subject\n\nA: b\n\nConflicts:\n\tsea.md', 'Subject\n\nA: b\nGrove-Via: rest agent:a\n\nConflicts:\n\tsea.md\n'],
      [`Subject\n${scissors}\nrest`, `Subject\n\nGrove-Via: rest agent:a\n\n${scissors}\nrest\n`],
      [`Subject\n\n${scissors} `, `Subject\n\n${scissors} \n\nGrove-Via: rest agent:a\n`],
      [`${scissors}\nrest`, `No message\n\nGrove-Via: rest agent:a\n\n${scissors}\nrest\n`],
    ]
    for (const [message, expected] of shapes)
      expect(stored((await committed(message, { 'grove-agent': 'a' })).id)).to.equal(expected)
  })

  it('is refused in a message that brings its own, in every operation with a message', async () => {
    const own = ['x\n\nGrove-Via: mcp token 00000000', 'x\r\ngrove-via : y', 'Grove-Via: z', 'x\n\nA: b\nGROVE-VIA:\n']
    const version = node.git.head()
    for (const message of own)
      for (const [answer, loc] of [
        [
          ann.post(`${node.at}/tree/main/commits`, { message, changes: [{ action: 'put', path: 'b', content: 'b' }] }),
          ['body', 'message'],
        ],
        [ann.patch(node.at, { title: 'Other', message }), ['body', 'message']],
        [ann.post(`${node.at}/branches/main/restore`, { commit: version, message }), ['body', 'message']],
        [
          ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes: [{ ref: 'a', title: 'A', message }] }),
          ['body', 'nodes', 0, 'message'],
        ],
      ] as const) {
        const { status, body } = await answer
        expect([status, body.detail?.[0]?.loc], `${message} ${JSON.stringify(body)}`).to.deep.equal([422, loc])
      }
    expect(node.git.head()).to.equal(version)
  })

  it('needs a name of a program that is well-formed', async () => {
    for (const name of ['', ' ', 'two words', 'x'.repeat(65), 'a<b>', 'é', 'a, b', 'a;b', '--\u00a0>'])
      expect((await ann.get('/orgs', { 'grove-agent': Buffer.from(name).toString('latin1') })).status, name).to.equal(
        422,
      )
    for (const name of ['x', 'x'.repeat(64), 'Claude-Code/2.1_b.3', '-->'.slice(0, 2)])
      expect((await ann.get('/orgs', { 'grove-agent': name })).status, name).to.equal(200)
    expect((await ann.get('/orgs', { 'grove-agent': 'two words' })).body.detail[0].loc).to.deep.equal([
      'header',
      'Grove-Agent',
    ])
  })
})
